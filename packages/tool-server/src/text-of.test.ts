import { expect, test } from "vitest";
import { textOf } from "./text-of.js";

test("returns the text parts of a result and the text of its resources, and nothing of others", () => {
  const content = [
    { type: "text", text: "one" },
    { type: "image", data: "AAAA", mimeType: "image/png" },
    { type: "resource", resource: { uri: "file:///two", text: "two" } },
    { type: "resource", resource: { uri: "file:///three", blob: "AAAA" } },
    { type: "resource_link", uri: "file:///four", name: "four" },
  ];
  expect(textOf({ content })).toBe("one\ntwo");
  expect(textOf({ content: [] })).toBe("");
  expect(textOf({})).toBe("");
});
