import fc from "fast-check";
import { expect, test } from "vitest";
import { parseEnvFile } from "./env-file.js";

function read(text: string): Record<string, string> {
  const { variables, findings } = parseEnvFile(text, ".env");
  expect(findings).toEqual([]);
  return { ...variables };
}

test("[TS-STDIO-2] reads names and values, and skips comments and export", () => {
  expect(read("\ufeff# a comment\n\nA=1\r\nexport B = two words  # why\n  C=\nD=a#b\n")).toEqual({
    A: "1",
    B: "two words",
    C: "",
    D: "a#b",
  });
});

test("reads every kind of line break, and a byte-order mark only at the start", () => {
  expect(read("\ufeffA=1\rB=2\r\nC=3\nD=a\ufeffb")).toEqual({ A: "1", B: "2", C: "3", D: "a\ufeffb" });
});

test("reads a comment in place of a value, several spaces after export, and a backslash before a single quote", () => {
  expect(read("A= # nothing\nexport   B=2\nC='x\\'\nD=1")).toEqual({ A: "", B: "2", C: "x\\", D: "1" });
});

test("preserves white space and symbols in quotes, across several lines", () => {
  expect(read(`A=" a # b "\nB='x\\ny $C'\nC="1\\n2\\t\\"\\\\\\$"\nD="one\ntwo" # end\nE=last`)).toEqual({
    A: " a # b ",
    B: "x\\ny $C",
    C: '1\n2\t"\\$',
    D: "one\ntwo",
    E: "last",
  });
});

test("expands nothing, and uses the last line for a name", () => {
  expect(read("A=1\nB=$A ${A} `id` $(id)\nA=2")).toEqual({ A: "2", B: "$A ${A} `id` $(id)" });
});

test("reports an invalid line by number, without its content", () => {
  const { variables, findings } = parseEnvFile('s3cret\nA="s3cret\nB=1\nC="x" s3cret\n1D=s3cret', "x/.env");
  expect({ ...variables }).toEqual({ B: "1" });
  expect(findings.map(({ line, file, code }) => `${file}:${line} ${code}`)).toEqual([
    "x/.env:1 env-file-syntax",
    "x/.env:2 env-file-syntax",
    "x/.env:4 env-file-syntax",
    "x/.env:5 env-file-syntax",
  ]);
  expect(JSON.stringify(findings)).not.toContain("s3cret");
});

test("reads any value in double quotes back unchanged", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (value) => {
      fc.pre(!value.includes("\r"));
      expect(read(`A="${value.replace(/["\\$]/g, "\\$&")}"`)).toEqual({ A: value });
    }),
  );
});

test("never throws, whatever the content is", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => parseEnvFile(text, ".env").findings.length >= 0));
});

test("counts lines across multi-line values, and parses a long file quickly", () => {
  expect(parseEnvFile('A="1\n2"\nwrong\n', ".env").findings).toMatchObject([{ line: 3 }]);
  expect(parseEnvFile("A='b\n".repeat(100_000), ".env").findings.length).toBeGreaterThan(0);
  expect(parseEnvFile(`A='${"b\n".repeat(500_000)}`, ".env").findings.length).toBeGreaterThan(0);
});
