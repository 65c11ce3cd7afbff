import { sep } from "node:path";
import { expect, test } from "vitest";
import { inputVariable, literalOf, parseTemplate, variablesOf } from "./template.js";

const text = (piece: string) => ({ kind: "text", text: piece });
const variable = (name: string, fallback?: string) => ({ kind: "variable", name, fallback });
const root = (spelling: string, fallback?: string) => ({ ...variable("HOST_PLUGIN_ROOT", fallback), spelling });

test.each<[string, unknown[]]>([
  ["", []],
  ["plain", [text("plain")]],
  ["${A}", [variable("A")]],
  ["${_a1:-}", [variable("_a1", "")]],
  ["a${A}b${B:-c:-d}e", [text("a"), variable("A"), text("b"), variable("B", "c:-d"), text("e")]],
  ["${A}${A}", [variable("A"), variable("A")]],
  ["$A {B} $ { $$ }", [text("$A {B} $ { $$ }")]],
  ["${env:A}${HOST_PLUGIN_ROOT}", [variable("A"), variable("HOST_PLUGIN_ROOT")]],
  ["a${/}b${pathSeparator}", [text("a"), text(sep), text("b"), text(sep)]],
  ["${workspaceFolder}/a", [root("workspaceFolder"), text("/a")]],
  ["${CLAUDE_PLUGIN_ROOT:-b}${CLAUDE_PROJECT_DIR}", [root("CLAUDE_PLUGIN_ROOT", "b"), root("CLAUDE_PROJECT_DIR")]],
  ["${input:api-key}", [variable("input:api-key")]],
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
  expect(parseTemplate(written).malformed.map(({ reason }) => reason)).toEqual(malformed);
});

test("applies the definition of an input only to that input", () => {
  const inputs = new Map([["region", { isSecret: true, choices: ["eu", "us"] }]]);
  expect(parseTemplate("${region}${input:other}${input:region}", { inputs }).parts).toEqual([
    variable("region"),
    variable("input:other"),
    { ...variable("input:region"), isSecret: true, choices: ["eu", "us"] },
  ]);
});

test("reads $NAME as a variable only in formats that have it", () => {
  const { parts } = parseTemplate("$A/${B}-$1", { variables: "shell" });
  expect(parts).toEqual([variable("A"), text("/"), variable("B"), text("-$1")]);
});

test.each([
  ["input:api-key", "INPUT_API_KEY"],
  ["input:a--b.C1", "INPUT_A_B_C1"],
])("the variable of %s is %s", (name, expected) => {
  expect(inputVariable(name)).toBe(expected);
});

test("returns the references and the literal text of a template separately", () => {
  const template = parseTemplate("https://${HOST}/${PATH:-x}?q");
  expect(variablesOf(template).map(({ name, fallback }) => [name, fallback])).toEqual([
    ["HOST", undefined],
    ["PATH", "x"],
  ]);
  expect(literalOf(template)).toBe("https:///?q");
});
