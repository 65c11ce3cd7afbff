import { describe, expect, test } from "vitest";
import { expandTemplate, templateVariables } from "./uri-template.js";

describe("a URI template", () => {
  test("lists its variables, each once", () => {
    expect(templateVariables("db://{host}/{+path}{?limit,offset*}{&host}")).toEqual([
      "host",
      "path",
      "limit",
      "offset",
    ]);
    expect(templateVariables("plain://no/variables")).toEqual([]);
  });

  test.each([
    ["a://{x}", "a://1%202%2F3"],
    ["a://{+x}", "a://1%202/3"],
    ["a://b{/x}", "a://b/1%202%2F3"],
    ["a://b{?x,y}", "a://b?x=1%202%2F3&y=2"],
    ["a://b{#x}", "a://b#1%202/3"],
    ["a://b{;y}", "a://b;y=2"],
    ["a://{x:1}{.y}", "a://1.2"],
    ["a://{none}b", "a://b"],
  ])("expands %s as RFC 6570 defines", (template, uri) => {
    expect(expandTemplate(template, { x: "1 2/3", y: "2" })).toBe(uri);
  });

  test("a long or odd template is handled in time", () => {
    expect(templateVariables("{".repeat(100_000))).toEqual([]);
    expect(templateVariables("{a}".repeat(10_000))).toEqual(["a"]);
    expect(expandTemplate("{__proto__}{constructor}", {})).toBe("");
  });
});
