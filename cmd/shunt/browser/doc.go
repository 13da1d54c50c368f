// Package browser has the tests of the built binary in a real browser, Debian's chromium: people's
// ways through the pages, with and without script, and the looks, weight and accessibility of each
// page. They know addresses, words on pages and the API, but not the inside of the program. The
// package has only tests, and nothing may import it.
//
// SHUNTTEST_BROWSER is long or short; without it, all tests that need the browser are skipped. make
// browser sets it and fetches axe-core, whose file SHUNTTEST_AXE names. The short form runs in
// chromium-headless-shell, which takes a third of the time, but for the tests that need windows.
// Tests share a browser, and each tab has a context of its own, without cookies of others.
//
// Every tab is watched (watch_test.go): a message on the console, a violation of a policy, a request
// to another host, a dialog or an answer 5xx fails the test, whatever the test is about. The table
// of pages is in pages_test.go; adding a page to all checks and to the screenshots is one row there.
// Elements are found by role and accessible name (find_test.go), as people and screen readers do;
// that works without script too, so one flow serves both.
package browser
