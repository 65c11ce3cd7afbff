import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const folder = fileURLToPath(new URL("../packages/cli/bundle", import.meta.url));

/** What is loaded together with a file of the bundle, by static imports. */
function loadedWith(entry: string): string {
  const names = new Set([entry]);
  let text = "";
  for (const name of names) {
    const source = readFileSync(join(folder, name), "utf8");
    text += source;
    for (const [, imported = ""] of source.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)) names.add(imported);
  }
  return text;
}

function fileNamed(start: string): string {
  return readdirSync(folder).find((name) => name.startsWith(`${start}-`) && name.endsWith(".js")) ?? "";
}

// Words of the parts themselves, which no other part says.
const messages = "google.protobuf.FileDescriptorProto";
const router = "createConnectRouter";

test("a command starts without the gateway, and without the messages of Channelz", () => {
  const loaded = loadedWith("index.js");
  expect(loaded.includes("wirescope <command> --help")).toBe(true);
  for (const part of [messages, router, "ClientCredentials"]) expect(loaded.includes(part), part).toBe(false);
});

test("the gateway starts without what only those need who look into it", () => {
  const loaded = loadedWith(fileNamed("run-up"));
  expect(loaded.includes("mcp-session-id")).toBe(true);
  for (const part of [messages, router]) expect(loaded.includes(part), part).toBe(false);
});

test("what is loaded late is in the bundle, by those words", () => {
  const services = loadedWith(fileNamed("create-services"));
  expect([messages, router].filter((part) => !services.includes(part))).toEqual([]);
});
