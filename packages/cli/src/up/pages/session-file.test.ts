import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPageAccess } from "@wirescope/gateway/internal/page";
import { expect, onTestFinished, test } from "vitest";
import { createSessionStore } from "./session-file.js";

const scope = { port: 4690, host: "127.0.0.1", files: ["/a/.mcp.json"], profile: "default" };

function createFolder(): { readonly env: NodeJS.ProcessEnv; readonly folder: string } {
  const runtime = mkdtempSync(join(tmpdir(), "wirescope-sessions-"));
  onTestFinished(() => rmSync(runtime, { recursive: true }));
  return { env: { XDG_RUNTIME_DIR: runtime }, folder: join(runtime, "wirescope") };
}

test("[TS-D-PAGE-6] restores sessions only for the same gateway, from a file that only this user can read", () => {
  const { env, folder } = createFolder();
  const access = createPageAccess({ store: createSessionStore(env, scope) });
  const ticket = new URL(access.linkTo("http://gateway")).searchParams.get("ticket") ?? "";
  const cookie = access.redeem(ticket, undefined, false)?.cookie.split(";")[0];
  const findAt = (other: Partial<typeof scope>): boolean =>
    createPageAccess({ store: createSessionStore(env, { ...scope, ...other }) }).find(cookie, undefined) !== undefined;
  expect(findAt({})).toBe(true);
  for (const other of [{ port: 4691 }, { port: 0 }, { host: "" }, { files: ["/b/.mcp.json"] }, { profile: "work" }]) {
    expect(findAt(other)).toBe(false);
  }
  expect(readdirSync(folder)).toEqual(["page-4690.json"]);
  expect(statSync(join(folder, "page-4690.json")).mode & 0o777).toBe(0o600);
  const session = access.find(cookie, undefined);
  if (session !== undefined) access.end(session);
  expect(readdirSync(folder)).toEqual([]);
});

test("[TS-D-PAGE-6] starts without sessions if the file is damaged, too large or not writable", () => {
  const { env, folder } = createFolder();
  const store = createSessionStore(env, scope);
  store?.write([{ id: "a", keyHash: "b", rights: "reader", until: 1 }]);
  expect(store?.read()).toHaveLength(1);
  for (const text of ["", "{", "null", '{"sessions":[1]}', " ".repeat(100_000)]) {
    writeFileSync(join(folder, "page-4690.json"), text);
    expect(store?.read()).toEqual([]);
  }
  chmodSync(folder, 0o500);
  onTestFinished(() => chmodSync(folder, 0o700));
  expect(() => store?.write([])).not.toThrow();
});
