import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const page = readFileSync(new URL("../docs/call-path.md", import.meta.url), "utf8");
const files = [...page.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, path]) => path ?? "");

test("docs/call-path.md lists files that exist, each once, and at most 45", () => {
  const missing = files.filter((path) => !existsSync(new URL(`../packages/${path}`, import.meta.url)));
  expect(missing).toEqual([]);
  expect(new Set(files).size).toBe(files.length);
  expect(files.length).toBeGreaterThan(0);
  expect(files.length).toBeLessThanOrEqual(45);
});
