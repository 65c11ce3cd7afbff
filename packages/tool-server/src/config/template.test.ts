import { expect, test } from "vitest";
import { literalOf, parseTemplate, variablesOf } from "./template.js";

const text = (piece: string) => ({ kind: "text", text: piece });
const variable = (name: string, fallback?: string) => ({ kind: "variable", name, fallback });

test.each<[string, unknown[]]>([
  ["", []],
  ["plain", [text("plain")]],
  ["${A}", [variable("A")]],
  ["${_a1:-}", [variable("_a1", "")]],
  ["a${A}b${B:-c:-d}e", [text("a"), variable("A"), text("b"), variable("B", "c:-d"), text("e")]],
  ["${A}${A}", [variable("A"), variable("A")]],
  ["$A {B} $ { $$ }", [text("$A {B} $ { $$ }")]],
])("[TS-D-SUB-2] %s is parsed into its references and the text between them", (written, parts) => {
  const template = parseTemplate(written);
  expect(template).toEqual({ text: written, parts, malformed: [] });
});

test.each([
  ["${A", ["a ${ has no closing }"]],
  ["a ${ b", ["a ${ has no closing }"]],
  ["${}", ["${} has no name"]],
  ["${1A}", [expect.stringContaining("only letters, digits and _")]],
  ["${A-B}", [expect.stringContaining("only letters, digits and _")]],
  ["${A:B}", [expect.stringContaining("only letters, digits and _")]],
  ["${A:-${B}}", ["a default contains a variable"]],
  ["${} ${", ["${} has no name", "a ${ has no closing }"]],
  ["${} ${A} ${", ["${} has no name", "a ${ has no closing }"]],
])("[TS-D-SUB-4] rejects %s with a reason for each invalid reference", (written, malformed) => {
  expect(parseTemplate(written).malformed).toEqual(malformed);
});

test("returns the references and the literal text of a template separately", () => {
  const template = parseTemplate("https://${HOST}/${PATH:-x}?q");
  expect(variablesOf(template).map(({ name, fallback }) => [name, fallback])).toEqual([
    ["HOST", undefined],
    ["PATH", "x"],
  ]);
  expect(literalOf(template)).toBe("https:///?q");
});
