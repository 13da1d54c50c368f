/* epoll answers every request with the same redirect, with the bytes of the fasthttp constant. It
 * is what a redirect costs at least: one thread, one epoll, a read and a write for each event. It
 * reads requests only as far as to find where they end and whether they ask for the connection to
 * be closed, and it expects each in at most two pieces. It is a yardstick, not a server.
 *
 *	gcc -O2 -o epoll epoll.c && ./epoll 127.0.0.1 8080
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_EVENTS = 256, MAX_FD = 65536, IN_BYTES = 65536, OUT_BYTES = 262144 };

static const char location[] = "https://www.example.com/a/page/of/some/length/of/a/site/constant";

static char kept_alive[512], closing[512];
static size_t kept_alive_len, closing_len;
static unsigned char ended[MAX_FD]; /* how much of the end of a head the last bytes were: 0 to 3 */

static void fail(const char *what) {
	perror(what);
	exit(1);
}

/* write_answers makes the two answers, whose Date changes every second. */
static void write_answers(time_t now) {
	static time_t last;
	char date[64];
	struct tm tm;
	if (now == last)
		return;
	last = now;
	strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
	kept_alive_len = snprintf(kept_alive, sizeof kept_alive,
		"HTTP/1.1 302 Found\r\nServer: fasthttp\r\nDate: %s\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n", date, location);
	closing_len = snprintf(closing, sizeof closing,
		"HTTP/1.1 302 Found\r\nServer: fasthttp\r\nDate: %s\r\nContent-Length: 0\r\nLocation: %s\r\nConnection: close\r\n\r\n", date, location);
}

/* serve answers what has come on a connection. It returns 0 when the connection is to be closed. */
static int serve(int fd) {
	static char in[3 + IN_BYTES + 1], out[OUT_BYTES];
	static const char end[] = "\r\n\r\n";
	char *at = in + 3 - ended[fd], *next;
	size_t len = 0;
	memcpy(at, end, ended[fd]);
	ssize_t n = read(fd, in + 3, IN_BYTES);
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	char *stop = in + 3 + n;
	*stop = 0;
	while ((next = memmem(at, stop - at, end, 4)) && len + sizeof closing < OUT_BYTES) {
		int close = memmem(at, next - at, "\r\nConnection: close", 19) != NULL;
		memcpy(out + len, close ? closing : kept_alive, close ? closing_len : kept_alive_len);
		len += close ? closing_len : kept_alive_len;
		if (close) {
			(void)!write(fd, out, len);
			return 0;
		}
		at = next + 4;
	}
	for (ended[fd] = 3; ended[fd] > 0; ended[fd]--)
		if (stop - at >= ended[fd] && !memcmp(stop - ended[fd], end, ended[fd]))
			break;
	return len == 0 || write(fd, out, len) == (ssize_t)len;
}

static int open_listener(const char *ip, const char *port) {
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0 || inet_pton(AF_INET, ip, &to.sin_addr) != 1)
		fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&to, sizeof to) || listen(fd, 4096))
		fail("listen");
	return fd;
}

static void watch(int epoll, int fd) {
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e))
		fail("epoll_ctl");
}

static void accept_all(int epoll, int listener) {
	int fd;
	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		if (fd >= MAX_FD) {
			close(fd);
			continue;
		}
		ended[fd] = 0;
		watch(epoll, fd);
	}
}

int main(int argc, char **argv) {
	struct epoll_event events[MAX_EVENTS];
	if (argc != 3) {
		fprintf(stderr, "usage: epoll IP PORT\n");
		return 2;
	}
	int listener = open_listener(argv[1], argv[2]), epoll = epoll_create1(0);
	watch(epoll, listener);
	for (;;) {
		int n = epoll_wait(epoll, events, MAX_EVENTS, -1);
		write_answers(time(NULL));
		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;
			if (fd == listener)
				accept_all(epoll, listener);
			else if (!serve(fd))
				close(fd);
		}
	}
}
