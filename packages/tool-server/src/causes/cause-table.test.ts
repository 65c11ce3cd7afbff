import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { causeTable } from "./cause-table.js";

test("explains every cause, and no other, in docs/why.md", async () => {
  const text = await readFile(new URL("../../../../docs/why.md", import.meta.url), "utf8");
  const explained = [...text.matchAll(/^(?:\| )?`([a-z-]+)` (?:\||is reported)/gm)].map(([, code]) => code);
  expect(explained.sort()).toEqual(Object.keys(causeTable).sort());
});
