import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { rules } from "./rules.js";

const page = readFileSync(new URL("../../../../docs/configuration.md", import.meta.url), "utf8").split(
  "\n## Rules\n",
)[1];

test("lists exactly the rules with their sentences in docs/configuration.md", () => {
  const listed = [...(page ?? "").matchAll(/^\| `([a-z-]+)` \| (.+?) \| .+? \|$/gm)].map(([, code, rule]) => [
    code,
    rule,
  ]);
  expect(Object.fromEntries(listed)).toEqual(
    Object.fromEntries(Object.entries(rules).map(([code, rule]) => [code, rule])),
  );
});
