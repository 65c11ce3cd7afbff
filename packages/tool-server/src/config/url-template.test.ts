import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseTemplate } from "./template.js";
import { decidesOrigin, parseUrlTemplate, refuseInUrl, renderUrl } from "./url-template.js";

const split = (url: string) => parseUrlTemplate(parseTemplate(url));

/** The url with its values, or why one of them is invalid. */
function render(url: string, ...values: string[]): string | undefined {
  const template = split(url);
  if (template === undefined) return undefined;
  const refused = values
    .map((value, index) => refuseInUrl(template, index, value))
    .find((reason) => reason !== undefined);
  if (refused !== undefined) return refused;
  const rendered = renderUrl(template, values);
  return "url" in rendered ? rendered.url : rendered.refused;
}

describe("a url with variables", () => {
  test.each([
    ["HTTPS://me:pw@a.example:8443/p?q=1#f", ["https", "me:pw@", "a.example", ":8443", "/p", "q=1", "#f"]],
    ["https://a.example", ["https", "", "a.example", "", "", "", ""]],
    ["https://[::1]:80/", ["https", "", "[::1]", ":80", "/", "", ""]],
    ["https://a.example?q", ["https", "", "a.example", "", "", "q", ""]],
    ["https://a@b@c.example/", ["https", "a@b@", "c.example", "", "/", "", ""]],
    ["https://a.example/#section", ["https", "", "a.example", "", "/", "", "#section"]],
  ])("[TS-D-URL-1] splits %s into its parts", (url, parts) => {
    const { scheme, user, host, port, path, query, fragment } = split(url) ?? {};
    expect([scheme, user, host, port, path, query, fragment]).toEqual(parts);
  });

  test.each([
    ["${A}://${B}.x:${C}/${D}/${D}?${E}=${F}#${G}", "scheme host port path path query query fragment"],
    ["https://${U}@a.example/", "user"],
    ["${A}/${B}", "origin path"],
    ["${A}${B}:${C}?${D}", "origin host port query"],
    ["${A}/to?url=https://b.example", "origin"],
    ["${A}${B}://a.example", "scheme scheme"],
    ["${A}s://a.example", "scheme"],
  ])("[TS-D-URL-1] finds the variables of %s in %s", (url, regions) => {
    expect(split(url)?.regions).toEqual(regions.split(" "));
  });

  test.each([
    "",
    "a.example",
    "/mcp",
    "https:a",
    "https://",
    "https:///p",
    "https://:80/",
    "https://a b/",
    "https://a\\b",
    "https://a\tb",
    "https://a:b/",
    "${A}@b.example",
    "https://a.example:99999/",
    "view-source:https://a.example/",
    "/https://${A}/",
    "https://[::1]a/",
  ])("[TS-D-URL-1] rejects %j because it is not an absolute URL", (url) => {
    expect(split(url)).toBeUndefined();
  });

  test("[TS-D-URL-1] decides the origin by four of the parts", () => {
    const regions = ["origin", "scheme", "user", "host", "port", "path", "query", "fragment"] as const;
    expect(regions.filter(decidesOrigin)).toEqual(["origin", "scheme", "host", "port"]);
  });
});

describe("a value", () => {
  test.each([
    ["https://${U}@a.example/", "me", "variables are not allowed in the user name"],
    ["${S}://a.example/", "ht+tps", "not a scheme"],
    ["https://${H}/", "https://b.example", "it starts with a scheme"],
    ["https://${H}/", "b.example/https://a.example", 'it contains "/"'],
    ["https://${H}/", "a:0", "its port is not a number from 1 to 65535"],
    ["https://${H}/", "a:65536", "its port is not a number"],
    ["https://${H}:80/", "a:81", 'it contains ":"'],
    ["https://${H}.example/", "a:81", 'it contains ":"'],
    ["https://x.${H}/", "[::1]", 'it contains "["'],
    ["https://${H}/", "a b", "it contains the character U+0020"],
    [
      "https://${H}/",
      "\u00e4",
      "U+00E4, but a host can contain only letters, digits, hyphens, underscores and dots; write an internationalized name",
    ],
    ["https://${H}/", "a\u{1f600}", "U+1F600"],
    ["https://a.example:${P}/", "0", "not a number from 1 to 65535"],
    ["https://a.example:${P}/", "65536", "not a number from 1 to 65535"],
    ["https://a.example/${P}", "\ud800", "not well-formed Unicode"],
    ["${O}/mcp", "a.example", "does not start with a scheme"],
    ["${O}/mcp", "https://me@a.example", "a user name, a password"],
    ["${O}:80/mcp", "https://a.example/p", "it contains a path"],
    ["${O}:80/mcp", "https://a.example:81", 'it contains ":"'],
    // Otherwise, the rest of the host would become a part of the path.
    ["${O}.a.example/mcp", "https://b.example/p", "it contains a path, but the url continues with the host or port"],
    ["${O}.a.example/mcp", "https://b.example?", "it contains a path"],
    ["${O}.a.example/mcp", "https://b.example:81", 'it contains ":"'],
    ["${O}.a.example/mcp", "https://[::1]", 'it contains "["'],
    ["${O}/mcp", "https://256.1.1.1", "not a URL after substitution"],
    ["${O}/mcp", "https://a.example:0", "its port is not a number"],
    ["${O}/mcp", "https:///p", "it has no host"],
    ["${O}/mcp", "https://a.example/a b", "the character U+0020, which is not allowed in a url path"],
    ["${O}/mcp", "https://a.example/p?q", "it contains a query"],
    ["${O}?a=1", "https://a.example/p?q", "it contains a query"],
    ["${O}#f", "https://a.example/p?q", "it contains a query"],
    ["${O}/mcp", "https://a.example/p/../q", "a . or .. segment"],
    ["${O}/mcp", " https://a.example", "does not start with a scheme"],
    ["${O}/mcp", "view-source:https://a.example", "does not start with a scheme"],
    ["${O}/mcp", "b.example/https://a.example", "does not start with a scheme"],
    ["https://a.example:${P}/", "80a", "not a number from 1 to 65535"],
    ["https://a.example:${P}/", "8e1", "not a number from 1 to 65535"],
    ["https://a.example:${P}/", "+80", "not a number from 1 to 65535"],
    ["https://a.example:${P}/", "000080", "not a number from 1 to 65535"],
  ])("[TS-D-URL-1] rejects a value in %s without quoting it: %j", (url, value, reason) => {
    const refused = render(url, value);
    expect(refused).toContain(reason);
    if (value.length > 6) expect(refused).not.toContain(value);
  });

  test("[TS-D-URL-1] explains internationalized names only if a value contains one", () => {
    const names = "but a host can contain only letters, digits, hyphens, underscores and dots";
    expect(render("https://${H}/", "a~b")).toBe(`it contains "~", ${names}`);
    expect(render("https://${H}/", "a\u007fb")).toMatch(/^it contains the character U\+007F, .* dots; write an/);
  });

  test.each([
    ["https://${H}/", ["a..b"], "empty or too long"],
    ["https://${H}/", ["a".repeat(64)], "empty or too long"],
    ["https://${H}/", [`${"a.".repeat(126)}bc`], "empty or too long"],
    ["https://${H}/", ["2130706433"], "not written as four decimal numbers"],
    ["https://${A}${B}/", ["0x7f", ".1"], "not written as four decimal numbers"],
    ["https://${H}//127.0.0.1/", ["2130706433"], "not written as four decimal numbers"],
    ["${O}/mcp", ["https://2130706433//127.0.0.1"], "not written as four decimal numbers"],
    ["https://${A}${B}/", ["a:80", "80"], 'it contains ":"'],
    ["https://a.example:${A}${B}/", ["6553", "65"], "not a URL after substitution"],
    ["https://a.example/${A}${B}/x", [".", "."], "change the structure"],
    ["https://a.example/.${A}", ["."], "change the structure"],
    ["https://a.example/x/${A}", ["."], "change the structure"],
    ["https://a.example/${A}?q", [".."], "change the structure"],
    ["https://a.example/x/%2E${A}#f", ["."], "change the structure"],
    // Literal parts are used as written.
    ["https://a.example/./x/${A}", ["b.."], "https://a.example/./x/b.."],
    ["https://a.example/x/${A}", [""], "https://a.example/x/"],
    ["https://a.example:${P}/", ["8443"], "https://a.example:8443/"],
    ["https://${H}/", ["a".repeat(63)], `https://${"a".repeat(63)}/`],
    ["https://${H}/", [`${"a.".repeat(126)}b`], `https://${"a.".repeat(126)}b/`],
    ["https://${H}/", ["a.example."], "https://a.example./"],
    ["https://${H}/", ["127.0.0.1"], "https://127.0.0.1/"],
    ["https://${H}/", ["127.0.0.1:80"], "https://127.0.0.1:80/"],
    ["https://${H}?q", ["127.0.0.1"], "https://127.0.0.1?q"],
    ["https://a.example/#${F}", [""], "https://a.example/#"],
    ["https://${H}/", ["1A.Example"], "https://1A.Example/"],
    ["https://${H}/", ["A1"], "https://A1/"],
    ["https://${H}/", ["[::1]:65535"], "https://[::1]:65535/"],
    ["https://${A}.${B}/", ["a", "b:1"], "https://a.b:1/"],
    [
      "https://a.example/${A}/${B}?${C}=${D}#${E}",
      ["a/b", "c?", "d&", "e=", "f#"],
      "https://a.example/a%2Fb/c%3F?d%26=e%3D#f%23",
    ],
    ["${O}${H}:${P}/${S}", ["https://a", ".example", "80", "x/y"], "https://a.example:80/x%2Fy"],
    ["${O}/${S}?q=${Q}#${F}", ["https://a.example/v1/", "s", "q", "f"], "https://a.example/v1/s?q=q#f"],
    ["${O}?q", ["https://a.example/v1/"], "https://a.example/v1/?q"],
    ["${O}", ["https://[::1]:1"], "https://[::1]:1"],
  ])("[TS-D-URL-1, TS-D-URL-2] renders the url %s with %j, or says why it cannot: %s", (url, values, expected) => {
    expect(render(url, ...values)).toContain(expected);
  });
});

test("[TS-D-URL-2] no value in the path, query or fragment changes the structure of the url", () => {
  const urls = [
    "https://a.example/${A}/x?${B}=${C}&d=1#${D}",
    "https://h${H}.example:${P}/${A}/${B}/${C}",
    "${O}/${A}?q=${B}${C}",
  ];
  const origin = ["https://b.example:8443/base/", "c", "8443"];
  const structure = (text: string) => {
    const { origin, username, password, pathname, search } = new URL(text);
    return [origin, username, password, pathname.split("/").length, search.split(/[&=]/).length];
  };
  const unit = fc.constantFrom(
    "a",
    ".",
    "/",
    "\\",
    "?",
    "#",
    "&",
    "=",
    "@",
    ":",
    "%",
    "%2e",
    "%2F",
    " ",
    "\t",
    "\n",
    "\0",
    "é",
    "\ud800",
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...urls),
      fc.array(fc.string({ unit }), { minLength: 4, maxLength: 4 }),
      (url, values) => {
        const template = split(url)!;
        const filled = (fill: (index: number) => string): string[] =>
          template.regions.map((region, at) => {
            if (!decidesOrigin(region)) return fill(at);
            return origin[["origin", "host", "port"].indexOf(region)] ?? "";
          });
        const chosen = filled((at) => values[at % 4] ?? "");
        if (chosen.some((value, at) => refuseInUrl(template, at, value) !== undefined)) return;
        const rendered = renderUrl(template, chosen);
        const plain = renderUrl(
          template,
          filled(() => "a"),
        );
        if ("url" in rendered && "url" in plain) expect(structure(rendered.url)).toEqual(structure(plain.url));
        expect("url" in plain).toBe(true);
      },
    ),
    { numRuns: 2000 },
  );
});
