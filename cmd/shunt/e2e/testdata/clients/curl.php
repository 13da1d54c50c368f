<?php
// PHP programs talk to YOURLS by curl, with the parameters as a form: an array is multipart, and a text urlencoded.
declare(strict_types=1);

function same(mixed $got, mixed $want, string $of): void
{
    if ($got !== $want) {
        throw new Exception("$of: got " . var_export($got, true) . ", want " . var_export($want, true));
    }
}

// send returns the status and the body of an answer. $how is one of the forms.
function send(string $how, array $parameters): array
{
    $address = getenv('SHUNT_URL') . '/yourls-api.php';
    $query = http_build_query($parameters);
    $handle = curl_init($how === 'query' ? "$address?$query" : $address);
    curl_setopt($handle, CURLOPT_RETURNTRANSFER, true);
    if ($how !== 'query') {
        curl_setopt($handle, CURLOPT_POST, true);
        curl_setopt($handle, CURLOPT_POSTFIELDS, $how === 'multipart' ? $parameters : $query);
    }
    $body = curl_exec($handle);
    same(curl_error($handle), '', $how);
    return [curl_getinfo($handle, CURLINFO_RESPONSE_CODE), $body];
}

// call returns the answer to an action, whose HTTP status must be $status.
function call(string $how, int $status, string $action, array $parameters): object
{
    $known = ['signature' => getenv('SHUNT_TOKEN'), 'format' => 'json', 'action' => $action];
    [$got, $body] = send($how, $parameters + $known);
    same($got, $status, "$how, $action: $body");
    return json_decode($body, false, 8, JSON_THROW_ON_ERROR);
}

function total(string $how): int
{
    return (int) call($how, 200, 'db-stats', [])->{'db-stats'}->total_links;
}

foreach (['multipart', 'urlencoded', 'query'] as $how) {
    $before = total($how);
    $code = "php-$how";
    $url = "https://a.example/$how?a=1&b=2+3%20#ä";
    $made = call($how, 200, 'shorturl', ['url' => $url, 'keyword' => $code, 'title' => 'Größe & "mehr"']);
    same([$made->status, $made->statusCode, $made->url->keyword], ['success', 200, $code], "$how: made");
    same([$made->shorturl, $made->title], [getenv('SHUNT_URL') . "/$code", 'Größe & "mehr"'], "$how: made");

    $taken = call($how, 400, 'shorturl', ['url' => 'https://a.example/other', 'keyword' => $code]);
    same([$taken->status, $taken->code], ['fail', 'error:keyword'], "$how: taken");
    $nothing = call($how, 400, 'shorturl', ['url' => '']);
    same($nothing->code, 'error:nourl', "$how: no target");

    $drawn = call($how, 200, 'shorturl', ['url' => "https://a.example/drawn-$how"]);
    $again = call($how, 200, 'shorturl', ['url' => "https://a.example/drawn-$how"]);
    same([$again->status, $again->shorturl], ['success', $drawn->shorturl], "$how: again");
    [, $bare] = send($how, ['signature' => getenv('SHUNT_TOKEN'), 'format' => 'simple', 'action' => 'shorturl', 'url' => "https://a.example/drawn-$how"]);
    same($bare, $drawn->shorturl, "$how: the bare address");

    $expanded = call($how, 200, 'expand', ['shorturl' => $made->shorturl]);
    same([$expanded->keyword, $expanded->longurl, $expanded->message], [$code, $made->url->url, 'success'], "$how: expanded");
    same(call($how, 404, 'expand', ['shorturl' => 'php-missing'])->errorCode, '404', "$how: missing");
    same(call($how, 200, 'url-stats', ['shorturl' => $code])->link->clicks, '0', "$how: stats");
    same(call($how, 200, 'stats', ['filter' => 'last', 'limit' => 1])->links->link_1->url, "https://a.example/drawn-$how", "$how: list");

    // Wrong signatures, of which one is a hash of a time and the secret, as YOURLS has it.
    $now = (string) time();
    foreach ([['signature' => 'wrong'], ['signature' => ''], ['signature' => md5($now . getenv('SHUNT_TOKEN')), 'timestamp' => $now]] as $wrong) {
        $refused = call($how, 403, 'shorturl', $wrong + ['url' => 'https://a.example/refused']);
        same([$refused->errorCode, $refused->callback], ['403', ''], "$how: refused");
        same(is_string($refused->message) && $refused->message !== '', true, "$how: refused");
    }

    // There is no action that deletes, and nothing else has deleted a link.
    same(call($how, 400, 'delete', ['shorturl' => $code])->errorCode, '400', "$how: delete");
    same(total($how), $before + 2, "$how: links");
}
