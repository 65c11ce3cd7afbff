import { expect, test } from "vitest";
import { printableText } from "./printable-text.js";

test("text of a peer cannot drive a terminal, reorder a line or hide", () => {
  expect(printableText("\u001b[2Jgone\u0007\r\n\ttab\u009b1m")).toBe("\\x1b[2Jgone\\x07\\r\\n\\ttab\\x9b1m");
  expect(printableText("evil\u202etxt.exe\u2028next\u200bline\ud800")).toBe(
    "evil\\u202etxt.exe\\u2028next\\u200bline\\ud800",
  );
  expect(printableText("\u{e0041}")).toBe("\\u{e0041}");
});

test("ordinary text of any script stays as it is", () => {
  expect(printableText("dns:///données.example:443 日本 🙂 \\n")).toBe("dns:///données.example:443 日本 🙂 \\n");
});

test("text longer than the bound ends in an ellipsis, also when escaping is what made it long", () => {
  expect(printableText("abcdef", 6)).toBe("abcdef");
  expect(printableText("abcdefg", 6)).toBe("abcde…");
  expect(printableText("\u0000\u0000\u0000", 6)).toBe("\\x00\\…");
});
