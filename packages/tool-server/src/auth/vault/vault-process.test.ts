import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { filesBelow } from "./temporary-folder.test.helper.js";
import { keyOf } from "./vault-contract.test.helper.js";
import { bundleVaultWorker, killWriters, newPlace, open, start } from "./vault-processes.test.helper.js";

bundleVaultWorker();

describe("processes that share a vault", () => {
  test("processes never run two tasks under one key at once", async () => {
    const place = await newPlace();
    const counter = join(place.directory, "..", "counter");
    await writeFile(counter, "0");
    const workers = Array.from({ length: 4 }, () => start(place, "count", keyOf(), "40"));
    for (const worker of workers) expect(await worker.ended).toEqual([0, null]);
    expect(await readFile(counter, "utf8")).toBe("160");
    expect([...(await filesBelow(place.directory)).keys()]).toEqual([join(place.directory, "vault.json")]);
  });

  test("[TS-D-STORE-6] processes take over the lock of a killed process soon, and wait for a living one", async () => {
    const place = await newPlace();
    const vault = await open(place);
    for (let round = 0; round < 2; round += 1) {
      const worker = start(place, "hold", keyOf());
      await worker.said(1);
      await expect(vault.withLock(keyOf(), async () => {}, { waitMs: 1_000 })).rejects.toMatchObject({
        code: "VAULT_LOCKED",
        message: expect.stringContaining(`the process ${worker.child.pid}`),
      });
      const waiting = vault.withLock(keyOf(), async () => performance.now());
      const killedAt = performance.now();
      worker.child.kill("SIGKILL");
      // Half of the heartbeat time-out for an owner that cannot be looked up.
      expect((await waiting) - killedAt).toBeLessThan(7_500);
      await worker.ended;
    }
  });
});

test("[TS-OAUTH-5, TS-D-STORE-4] an entry whose writer is killed is the old or the new one, never partial and never in plain text", () =>
  killWriters(8));
