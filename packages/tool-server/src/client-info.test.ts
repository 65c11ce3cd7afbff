import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { defaultClientInfo } from "./client-info.js";

test("the version that servers see is that of every package", () => {
  const packages = new URL("../../", import.meta.url);
  for (const name of readdirSync(packages)) {
    const { version } = JSON.parse(readFileSync(new URL(`${name}/package.json`, packages), "utf8"));
    expect([name, version]).toEqual([name, defaultClientInfo.version]);
  }
});
