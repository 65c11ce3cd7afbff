import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import * as grpc from "@grpc/grpc-js";
import { createRegistry } from "@wirescope/channelz";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { serve } from "./echo.test.helper.js";
import { observeGrpcJs } from "./observe-grpc-js.js";

const require = createRequire(import.meta.url);
const installed = dirname(require.resolve("@grpc/grpc-js/package.json"));
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** The main file of one more copy of grpc-js. */
function anotherCopy(): string {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
  folders.push(folder);
  const copy = join(folder, "node_modules/@grpc/grpc-js");
  mkdirSync(dirname(copy), { recursive: true });
  for (const part of ["package.json", "build", "proto"])
    cpSync(join(installed, part), join(copy, part), { recursive: true });
  for (const name of ["@grpc/proto-loader", "@js-sdsl"]) {
    symlinkSync(join(installed, "../..", name), join(folder, "node_modules", name));
  }
  return join(copy, "build/src/index.js");
}

async function use(copy: typeof grpc): Promise<void> {
  const { target } = await serve();
  const channel = new copy.Channel(target, copy.credentials.createInsecure(), {});
  onTestFinished(() => channel.close());
}

test("observes every copy without being given one: those loaded now and those loaded later", async () => {
  const registry = createRegistry();
  const observation = observeGrpcJs(registry);
  onTestFinished(() => observation.stop());
  await use(grpc);
  expect(registry.size).toMatchObject({ channels: 1, servers: 1 });
  const required = require(anotherCopy()) as typeof grpc;
  const imported = (await import(pathToFileURL(anotherCopy()).href)) as typeof grpc;
  expect(new Set([grpc.Server, required.Server, imported.Server]).size).toBe(3);
  await use(required);
  await use(imported);
  expect(registry.size).toMatchObject({ channels: 3, servers: 3 });
  observation.stop();
  expect(registry.size).toMatchObject({ channels: 0, servers: 0 });
  for (const copy of [grpc, required, imported, require(anotherCopy()) as typeof grpc]) await use(copy);
  expect(registry.size).toMatchObject({ channels: 0, servers: 0 });
});

test.each([
  ["the module", () => grpc],
  ["what CommonJS requires", () => require("@grpc/grpc-js") as object],
  ["a file to find it from", () => import.meta.filename],
  ["the URL of such a file", () => new URL(import.meta.url)],
])("observes only one copy if %s is given", async (_, which) => {
  const other = require(anotherCopy()) as typeof grpc;
  const registry = createRegistry();
  const observation = observeGrpcJs(registry, which());
  onTestFinished(() => observation.stop());
  await use(other);
  expect(registry.size).toMatchObject({ channels: 0, servers: 1 });
  await use(grpc);
  expect(registry.size).toMatchObject({ channels: 1, servers: 2 });
});

test("rejects a value that cannot be observed, with advice", () => {
  const registry = createRegistry();
  expect(() => observeGrpcJs(registry, {})).toThrow(/not a loaded @grpc\/grpc-js\. Pass/);
  expect(() => observeGrpcJs(registry, join(tmpdir(), "nowhere.js"))).toThrow(
    /Cannot find @grpc\/grpc-js from .*Install it/,
  );
});

describe("a copy that is already observed", () => {
  test.each([
    ["all copies, then one", undefined, grpc],
    ["one copy, then all", grpc, undefined],
    ["all copies twice", undefined, undefined],
    ["one copy twice", grpc, grpc],
  ])(
    "shows a copy once for observations of the same registry (%s), until the last has stopped",
    async (_, ...observed) => {
      const registry = createRegistry();
      const [first, second] = observed.map((which) => observeGrpcJs(registry, which));
      onTestFinished(() => first!.stop());
      onTestFinished(() => second!.stop());
      await use(grpc);
      expect(registry.size).toMatchObject({ channels: 1, servers: 1 });
      first!.stop();
      first!.stop();
      expect(registry.size).toMatchObject({ channels: 1, servers: 1 });
      await use(grpc);
      expect(registry.size).toMatchObject({ channels: 2, servers: 2 });
      second!.stop();
      expect(registry.size).toMatchObject({ channels: 0, servers: 0 });
    },
  );

  test.each([
    ["all copies", undefined],
    ["that copy", grpc],
  ])("rejects an observation for another registry and %s, with advice, and continues", async (_, which) => {
    const registry = createRegistry();
    const observation = observeGrpcJs(registry, which);
    onTestFinished(() => observation.stop());
    expect(() => observeGrpcJs(createRegistry(), which)).toThrow(
      /already observed in another registry\. Pass that registry, or stop/,
    );
    await use(grpc);
    expect(registry.size).toMatchObject({ channels: 1, servers: 1 });
    observation.stop();
    observeGrpcJs(createRegistry(), which).stop();
  });
});

test("rejects a copy with other internals, and names the missing ones", () => {
  const mainFile = anotherCopy();
  writeFileSync(join(dirname(mainFile), "subchannel.js"), "exports.Subchannel = class {};");
  expect(() => observeGrpcJs(createRegistry(), mainFile)).toThrow(
    /cannot be observed: it has no Subchannel\.ref, Subchannel\.transitionToState/,
  );
});
