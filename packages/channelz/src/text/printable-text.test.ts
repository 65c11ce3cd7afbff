import { expect, test } from "vitest";
import { printableText } from "./printable-text.js";

test("escapes text of a peer that could control a terminal, reorder a line or hide", () => {
  expect(printableText("\u001b[2Jgone\u0007\r\n\ttab\u009b1m")).toBe("\\x1b[2Jgone\\x07\\r\\n\\ttab\\x9b1m");
  expect(printableText("evil\u202etxt.exe\u2028next\u200bline\ud800")).toBe(
    "evil\\u202etxt.exe\\u2028next\\u200bline\\ud800",
  );
  expect(printableText("\u{e0041}")).toBe("\\u{e0041}");
});

test("leaves ordinary text of any script unchanged", () => {
  expect(printableText("dns:///données.example:443 日本 🙂 \\n")).toBe("dns:///données.example:443 日本 🙂 \\n");
});

test("ends text that exceeds the limit with an ellipsis, even if only escaping made it too long", () => {
  expect(printableText("abcdef", 6)).toBe("abcdef");
  expect(printableText("abcdefg", 6)).toBe("abcde…");
  expect(printableText("\u0000\u0000\u0000", 6)).toBe("\\x00\\…");
});
