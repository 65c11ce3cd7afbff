import { randomInt } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keyOf } from "./vault-contract.test.helper.js";
import { bundleVaultWorker, killWriters, newPlace, open, start } from "./vault-processes.test.helper.js";

bundleVaultWorker();

test("[TS-OAUTH-5, TS-D-STORE-4] an entry whose writer is killed a hundred times is the old or the new one, never partial and never in plain text", () =>
  killWriters(100));

test("[TS-D-STORE-6] processes that are killed while they hold a lock or take it over never share it, and leave it to the next one", async () => {
  const place = await newPlace();
  const vault = await open(place);
  const lines: string[] = [];
  const lane = async (): Promise<void> => {
    for (let kills = 0; kills < 40; kills += 1) {
      const worker = start(place, "contend", keyOf());
      await worker.said(1);
      await new Promise((resolve) => setTimeout(resolve, randomInt(150)));
      worker.child.kill("SIGKILL");
      await worker.ended;
      lines.push(...worker.lines());
    }
  };
  await Promise.all(Array.from({ length: 5 }, lane));
  expect(lines.length).toBeGreaterThan(200);
  expect(lines.filter((line) => line !== "held alone")).toEqual([]);
  await vault.withLock(keyOf(), async () => {});
  const left = await readdir(join(place.directory, "locks"));
  expect(left.filter((name) => name.endsWith(".lock"))).toEqual([]);
});
