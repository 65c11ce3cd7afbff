import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { visibleLine, visibleText } from "../../design/visible-text.js";
import { contentBlock, contentBlocks, resultView } from "./content-blocks.js";

describe("content of a result", () => {
  test("text is shown as it is, and JSON is indented", () => {
    expect(contentBlock({ type: "text", text: "<b>bold</b>" })).toEqual({
      kind: "text",
      text: { shown: "<b>bold</b>", whole: "<b>bold</b>" },
      isJson: false,
    });
    expect(contentBlock({ type: "text", text: '{"a":1}' })).toMatchObject({
      text: { shown: '{\n  "a": 1\n}', whole: '{"a":1}' },
      isJson: true,
    });
    expect(contentBlock({ type: "text", text: "[not json" })).toMatchObject({ isJson: false });
  });

  test("images and audio come from the data of the result; other data can be saved", () => {
    expect(contentBlock({ type: "image", data: "iVBORw0KGgo=", mimeType: "image/PNG; x=1" })).toEqual({
      kind: "image",
      source: "data:image/png;base64,iVBORw0KGgo=",
      mimeType: "image/png",
      bytes: 8,
    });
    expect(contentBlock({ type: "audio", data: "AAAA", mimeType: "audio/wav" })).toMatchObject({ kind: "audio" });
    expect(contentBlock({ type: "image", data: "AA-_", mimeType: "text/html" })).toEqual({
      kind: "data",
      mimeType: "text/html",
      bytes: 3,
      base64: "AA+/",
    });
  });

  test("an address instead of data is never a source", () => {
    for (const data of ["https://example.com/x.png", "javascript:alert(1)", 'AAAA" onerror="x', "AAAA,<svg>"]) {
      expect(contentBlock({ type: "image", data, mimeType: "image/png" })).toMatchObject({ kind: "note" });
    }
  });

  test("resources and links keep their URI, and a resource within a resource ends there", () => {
    expect(
      contentBlock({ type: "resource", resource: { uri: "demo://a", text: "hello", mimeType: "text/plain" } }),
    ).toEqual({
      kind: "resource",
      uri: "demo://a",
      mimeType: "text/plain",
      content: { kind: "text", text: { shown: "hello", whole: "hello" }, isJson: false },
    });
    expect(contentBlock({ type: "resource_link", uri: "demo://b", name: "b", size: 2048, description: "two" })).toEqual(
      {
        kind: "link",
        uri: "demo://b",
        name: "b",
        notes: ["2.0 kB", "two"],
      },
    );
    expect(contentBlock({ type: "resource", resource: { type: "resource", resource: {} } })).toMatchObject({
      kind: "text",
    });
  });

  test("long text and many parts are truncated, and the whole text stays available", () => {
    const text = "x".repeat(1_000_000);
    const block = contentBlock({ type: "text", text });
    expect(block.kind === "text" && [block.text.shown.length, block.text.whole.length]).toEqual([100_000, 1_000_000]);
    const blocks = contentBlocks(Array.from({ length: 5000 }, () => ({ type: "text", text: "x" })));
    expect(blocks).toHaveLength(101);
    expect(blocks.at(-1)).toEqual({ kind: "note", text: "4900 more parts are not shown." });
  });

  test("a result without content shows its structured data, and an error is marked", () => {
    expect(resultView({ structuredContent: { a: 1 }, isError: true })).toMatchObject({
      isError: true,
      blocks: [],
      structured: { whole: '{\n  "a": 1\n}' },
    });
  });

  test("any value from a server can be shown, and its media come only from data", () => {
    const part = fc.record(
      {
        type: fc.constantFrom("text", "image", "audio", "resource", "resource_link", "other"),
        text: fc.oneof(fc.string(), fc.anything()),
        data: fc.oneof(fc.base64String(), fc.string(), fc.anything()),
        mimeType: fc.oneof(fc.constantFrom("image/png", "audio/wav", "text/html"), fc.string()),
        resource: fc.anything(),
        uri: fc.oneof(
          fc.domain().map((domain) => `https://${domain}/`),
          fc.string(),
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.record({ content: fc.array(part) })), (result) => {
        for (const block of resultView(result).blocks) {
          if (block.kind === "image" || block.kind === "audio")
            expect(block.source).toMatch(/^data:(image|audio)\/[a-z0-9+-]+;base64,[A-Za-z0-9+/]*={0,2}$/);
        }
      }),
    );
  });
});

describe("text of a server", () => {
  test("shows controls, bidirectional overrides and hidden characters as escapes", () => {
    expect(visibleText("a\u001b[31mb\u202ec\u0000d\u{e0041}e\ud800f")).toBe(
      "a\\u001b[31mb\\u202ec\\u0000d\\u{e0041}e\\ud800f",
    );
    expect(visibleText("one\r\ntwo\tthree 👩‍💻 é")).toBe("one\ntwo\tthree 👩‍💻 é");
    expect(visibleLine(" a\n\n b ".repeat(100), 10)).toBe("a b a…");
  });
});
