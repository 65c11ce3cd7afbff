import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { bundleProgram } from "../../process/bundled-program.test.helper.js";
import { openFileVault } from "./file-vault.js";
import { keyFromVariable } from "./key-source.js";
import { filesWith, temporaryFolder } from "./temporary-folder.test.helper.js";
import type { VaultKey } from "./vault.js";
import { keyOf, plantedSecret } from "./vault-contract.test.helper.js";

let program = "";

/** Bundles the program of `start` for the tests of a file. */
export function bundleVaultWorker(): void {
  let bundle = "";
  beforeAll(async () => {
    bundle = await mkdtemp(join(tmpdir(), "wirescope-vault-worker-"));
    program = await bundleProgram(new URL("vault-worker.test.helper.ts", import.meta.url), bundle);
  });
  afterAll(() => rm(bundle, { recursive: true, force: true }));
}

export interface Place {
  readonly directory: string;
  readonly environment: Record<string, string>;
}

export async function newPlace(): Promise<Place> {
  const environment = { WORKER_KEY: randomBytes(32).toString("base64"), WORKER_SECRET: plantedSecret };
  return { directory: join(await temporaryFolder(), "vault"), environment };
}

export interface Worker {
  readonly child: ChildProcess;
  /** The lines that it printed so far. */
  lines(): string[];
  /** Resolves when it has printed this many lines; rejects if it ends before. */
  said(count: number): Promise<void>;
  ended: Promise<unknown>;
}

export function start(place: Place, role: string, key: VaultKey, ...rest: string[]): Worker {
  const args = [program, role, place.directory, JSON.stringify(key), ...rest];
  const child = spawn(process.execPath, args, { env: place.environment, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  let text = "";
  child.stdout?.on("data", (chunk) => {
    text += chunk;
  });
  const lines = (): string[] => text.split("\n").slice(0, -1);
  const said = (count: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (lines().length >= count) resolve();
      };
      child.stdout?.on("data", look);
      child.once("close", () => reject(new Error(`The worker ended after ${lines().length} lines.`)));
      look();
    });
  return { child, lines, said, ended };
}

export function open({ directory, environment }: Place): ReturnType<typeof openFileVault> {
  return openFileVault({ directory, key: keyFromVariable("WORKER_KEY", environment) });
}

/** Kills writers of four entries: each entry is the old or the new one afterwards, never partial and never in plain text. */
export async function killWriters(kills: number): Promise<void> {
  const place = await newPlace();
  const vault = await open(place);
  const lane = async (key: VaultKey): Promise<void> => {
    let durable = -1;
    for (let round = 0; round < kills / 4; round += 1) {
      const worker = start(place, "put", key);
      await worker.said(1);
      await new Promise((resolve) => setTimeout(resolve, randomInt(12)));
      worker.child.kill("SIGKILL");
      await worker.ended;
      durable = Math.max(durable, Number(worker.lines().at(-1)));
      const value = (await vault.get(key))?.value;
      // The last value that it reported as durable is stored, or the next one, which it may not have reported yet.
      expect([durable, durable + 1]).toContain(value?.count);
      expect(value?.padding).toBe(`${plantedSecret} ${value?.count}, `.repeat(400));
    }
  };
  await Promise.all(["a", "b", "c", "d"].map((server) => lane(keyOf({ server }))));
  expect(await filesWith(place.directory, plantedSecret)).toEqual([]);
  expect(await vault.list()).toMatchObject({ keys: { length: 4 }, unreadable: [] });
}
