import { expect, onTestFinished, test } from "vitest";
import { ToolServerError } from "../../errors.js";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import { createMemoryVault } from "./memory-vault.js";
import { createUnavailableVault } from "./unavailable-vault.js";
import { writeEntry } from "./vault.js";
import { keyOf } from "./vault-contract.test.helper.js";

const unavailable = (problem: string): ToolServerError =>
  new ToolServerError("KEYCHAIN_UNAVAILABLE", { problem, advice: "" });

function createWorld() {
  const clock = createFakeClock();
  const state = { problem: "It is locked." as string | undefined, attempts: 0 };
  const opened = createMemoryVault();
  const reopen = async () => {
    state.attempts += 1;
    if (state.problem !== undefined) throw unavailable(state.problem);
    return opened;
  };
  const vault = createUnavailableVault(unavailable("It is locked."), reopen, clock);
  onTestFinished(() => vault.dispose());
  return { clock, state, opened, vault };
}

test("opens a vault again at most every two seconds, and fails with the latest reason until it opens", async () => {
  const { clock, state, opened, vault } = createWorld();
  await writeEntry(opened, keyOf(), { token: "kept" });
  await expect(vault.get(keyOf())).rejects.toThrow("It is locked.");
  expect(state.attempts).toBe(0);
  state.problem = "It does not respond.";
  clock.advance(2000);
  await expect(Promise.all([vault.get(keyOf()), vault.list()])).rejects.toThrow("It does not respond.");
  expect(vault.describe().warning).toContain("It does not respond.");
  clock.advance(1999);
  await expect(vault.withLock(keyOf(), async () => {})).rejects.toThrow("It does not respond.");
  expect(state.attempts).toBe(1);
  state.problem = undefined;
  clock.advance(1);
  expect((await vault.get(keyOf()))?.value).toEqual({ token: "kept" });
  clock.advance(60_000);
  await writeEntry(vault, keyOf({ item: "client" }), { id: "us" });
  expect((await opened.get(keyOf({ item: "client" })))?.value).toEqual({ id: "us" });
  expect(state.attempts).toBe(2);
  expect([vault.kind, vault.describe()]).toEqual([opened.kind, opened.describe()]);
});

test("calls the watchers of a vault when it opens and at each later change, until they stop", async () => {
  const { clock, state, opened, vault } = createWorld();
  let calls = 0;
  const stop = vault.watch(() => {
    calls += 1;
  });
  state.problem = undefined;
  clock.advance(2000);
  expect(calls).toBe(0);
  await vault.list();
  expect(calls).toBe(1);
  await writeEntry(opened, keyOf(), { token: "new" });
  await expect.poll(() => calls).toBe(2);
  stop();
  await writeEntry(opened, keyOf(), { token: "newer" });
  await vault.get(keyOf());
  expect(calls).toBe(2);
});

test("does not open a vault again that was disposed of, and disposes of one that it opened", async () => {
  const { clock, state, vault } = createWorld();
  await vault.dispose();
  clock.advance(2000);
  await expect(vault.list()).rejects.toThrow("It is locked.");
  expect(state.attempts).toBe(0);
  const other = createWorld();
  other.state.problem = undefined;
  other.clock.advance(2000);
  await other.vault.list();
  await other.vault.dispose();
  await expect(other.opened.list()).rejects.toThrow(TypeError);
});

test("stays unavailable if there is no way to open it again", async () => {
  const clock = createFakeClock();
  const vault = createUnavailableVault(unavailable("It is locked."), undefined, clock);
  clock.advance(60_000);
  await expect(vault.list()).rejects.toThrow("It is locked.");
});
