import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../json-object.js";
import { type LockedEntry, type Vault, type VaultEntry, type VaultKey, writeEntry } from "./vault.js";

/** A vault key, with some parts replaced. */
export function keyOf(parts: Partial<VaultKey> = {}): VaultKey {
  return {
    owner: "",
    profile: "development",
    server: "mail",
    resource: "https://mcp.example.com/mcp",
    issuer: "https://login.example.com",
    tenant: "",
    item: "tokens",
    ...parts,
  };
}

/** A vault whose writes go through `onWrite`. */
export function interceptWrites(
  vault: Vault,
  onWrite: (key: VaultKey, value: JsonObject, write: LockedEntry["write"]) => Promise<VaultEntry>,
): Vault {
  return {
    ...vault,
    withLock: (key, task, options) =>
      vault.withLock(
        key,
        (entry, signal) => task({ ...entry, write: (value) => onWrite(key, value, entry.write) }, signal),
        options,
      ),
  };
}

/** A promise with its resolve and reject functions. */
export function deferred(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Text that must never be visible, and that can be found in any bytes. */
export const plantedSecret = "planted-SECRET-7f3a9c0e51";

/** The contract of every vault. `open` creates a new one; `secrets` are those that only it knows. */
export function describeVaultContract(
  name: string,
  open: () => Promise<{ readonly vault: Vault; readonly secrets: readonly string[] }>,
): void {
  const start = async (): Promise<Vault & { readonly secrets: readonly string[] }> => {
    const { vault, secrets } = await open();
    onTestFinished(() => vault.dispose());
    return Object.assign(vault, { secrets });
  };

  describe(`${name} fulfils the contract of a vault`, () => {
    test("returns what was stored, and undefined for a missing entry", async () => {
      const vault = await start();
      expect(await vault.get(keyOf())).toBeUndefined();
      const value: JsonObject = { text: "ä\u0000\u{1f511}", deep: { list: [1, null, true, { a: "b" }] }, none: null };
      const put = await writeEntry(vault, keyOf(), value);
      expect(put.value).toEqual(value);
      expect(await vault.get(keyOf())).toEqual(put);
    });

    test("reports stored and deleted entries to watchers", async () => {
      const vault = await start();
      let seen: string | undefined = "nothing";
      const stop = vault.watch(async () => {
        seen = (await vault.get(keyOf()))?.revision;
      });
      const { revision } = await writeEntry(vault, keyOf(), { a: 1 });
      await expect.poll(() => seen).toBe(revision);
      expect(await vault.withLock(keyOf(), (entry) => entry.remove())).toBe(true);
      await expect.poll(() => seen).toBeUndefined();
      stop();
    });

    test("stores more than a keychain item can hold", async () => {
      const vault = await start();
      const value = { access: "a".repeat(20_000), refresh: "r".repeat(20_000) };
      await writeEntry(vault, keyOf(), value);
      expect((await vault.get(keyOf()))?.value).toEqual(value);
    });

    test("gives each write its own revision, even for the same value", async () => {
      const vault = await start();
      const first = await writeEntry(vault, keyOf(), { token: "1" });
      const second = await writeEntry(vault, keyOf(), { token: "1" });
      expect(second.revision).not.toBe(first.revision);
      expect((await vault.get(keyOf()))?.revision).toBe(second.revision);
    });

    test("keeps its values when stored or returned objects are mutated", async () => {
      const vault = await start();
      const given: { token: string } = { token: "1" };
      const put = await writeEntry(vault, keyOf(), given);
      given.token = "2";
      Object.assign(put.value, { token: "3" });
      Object.assign((await vault.get(keyOf()))?.value ?? {}, { token: "4" });
      expect((await vault.get(keyOf()))?.value).toEqual({ token: "1" });
    });

    test("keeps entries separate whose keys differ in one part: profiles, tenants, issuers and urls", async () => {
      const vault = await start();
      const parts = Object.keys(keyOf()) as (keyof VaultKey)[];
      const keys = [keyOf(), ...parts.map((part) => keyOf({ [part]: "other" }))];
      for (const [index, key] of keys.entries()) await writeEntry(vault, key, { index });
      for (const [index, key] of keys.entries()) expect((await vault.get(key))?.value).toEqual({ index });
      const listed = await vault.list();
      expect(listed.unreadable).toEqual([]);
      expect(new Set(listed.keys.map((key) => JSON.stringify(key)))).toEqual(
        new Set(keys.map((key) => JSON.stringify(key))),
      );
    });

    test("throws a TypeError for an incomplete key, and for a value that is not an object", async () => {
      const vault = await start();
      const { tenant: _, ...incomplete } = keyOf();
      await expect(vault.get(incomplete as VaultKey)).rejects.toThrow(TypeError);
      await expect(writeEntry(vault, incomplete as VaultKey, {})).rejects.toThrow(TypeError);
      await expect(vault.withLock(incomplete as VaultKey, async () => {})).rejects.toThrow(TypeError);
      await expect(writeEntry(vault, keyOf(), [] as unknown as JsonObject)).rejects.toThrow(TypeError);
      await expect(writeEntry(vault, keyOf(), { large: "x".repeat(600_000) })).rejects.toThrow(TypeError);
      expect(await vault.list()).toEqual({ keys: [], unreadable: [] });
    });

    test("lists only the entries whose keys have the given parts", async () => {
      const vault = await start();
      const keys = [keyOf(), keyOf({ server: "tickets" }), keyOf({ owner: "ada" })];
      for (const key of keys) await writeEntry(vault, key, {});
      const ownersOf = async (parts: Partial<VaultKey>): Promise<string[]> =>
        (await vault.list(parts)).keys.map(({ owner, server }) => `${owner} ${server}`).sort();
      expect(await ownersOf({ owner: "" })).toEqual([" mail", " tickets"]);
      expect(await ownersOf({ owner: "ada", item: "tokens" })).toEqual(["ada mail"]);
      expect(await ownersOf({ server: "tickets", tenant: "other" })).toEqual([]);
    });

    test("[TS-D-STORE-5] the holder of a lock reads, replaces and deletes what only it can change", async () => {
      const vault = await start();
      await vault.withLock(keyOf(), async (entry) => {
        expect(await entry.read()).toBeUndefined();
        expect(await entry.remove()).toBe(false);
        const written = await entry.write({ token: "1" });
        expect(await entry.read()).toEqual(written);
        expect(await vault.get(keyOf())).toEqual(written);
        expect(await entry.remove()).toBe(true);
        expect(await vault.get(keyOf())).toBeUndefined();
        await entry.write({ token: "2" });
      });
      expect((await vault.get(keyOf()))?.value).toEqual({ token: "2" });
      expect(await vault.list()).toEqual({ keys: [keyOf()], unreadable: [] });
    });

    test("[TS-D-STORE-5] an entry cannot be changed after its task, and what another task stores stays", async () => {
      const vault = await start();
      const late = await vault.withLock(keyOf(), async (entry) => entry);
      const { revision } = await writeEntry(vault, keyOf(), { token: "fresh" });
      const changes = [() => late.write({}), () => late.remove(), () => late.quarantine()];
      for (const change of [...changes, () => late.startRenewal(revision)]) {
        await expect(change()).rejects.toMatchObject({ code: "VAULT_LOCKED" });
      }
      expect((await vault.get(keyOf()))?.value).toEqual({ token: "fresh" });
    });

    test("an entry that is set aside is gone", async () => {
      const vault = await start();
      await writeEntry(vault, keyOf(), { token: "1" });
      await vault.withLock(keyOf(), (entry) => entry.quarantine());
      expect(await vault.get(keyOf())).toBeUndefined();
    });

    /** Runs a renewal; resolves with whether an earlier one was interrupted. */
    const renew = (vault: Vault, revision: string, then: (entry: LockedEntry) => unknown): Promise<boolean> =>
      vault.withLock(keyOf(), async (entry) => {
        const wasInterrupted = await entry.startRenewal(revision);
        expect(await entry.startRenewal(revision)).toBe(wasInterrupted);
        await then(entry);
        return wasInterrupted;
      });
    const fail = async (): Promise<never> => {
      throw new Error("interrupted");
    };

    test("[TS-D-STORE-10] a renewal that was interrupted is reported to the next ones, until one of them stores a value", async () => {
      const vault = await start();
      const { revision } = await writeEntry(vault, keyOf(), { token: "1" });
      await expect(renew(vault, revision, fail)).rejects.toThrow("interrupted");
      expect((await vault.get(keyOf()))?.revision).toBe(revision);
      expect(await renew(vault, revision, () => undefined)).toBe(true);
      expect(await renew(vault, revision, (entry) => entry.write({ token: "2" }))).toBe(true);
      const renewed = await vault.get(keyOf());
      expect(renewed?.value).toEqual({ token: "2" });
      expect(await renew(vault, renewed?.revision ?? "", () => undefined)).toBe(false);
    });

    test.each<[string, (entry: LockedEntry) => unknown]>([
      ["came to nothing", () => undefined],
      ["stored a value", (entry) => entry.write({ token: "2" })],
      ["deleted the entry", (entry) => entry.remove()],
    ])("[TS-D-STORE-10] a renewal that %s is not reported as interrupted", async (_, end) => {
      const vault = await start();
      const { revision } = await writeEntry(vault, keyOf(), { token: "1" });
      expect(await renew(vault, revision, end)).toBe(false);
      expect(await renew(vault, revision, () => undefined)).toBe(false);
    });

    test("[TS-D-STORE-10] an interrupted renewal is not reported after a sign-in or a sign-out", async () => {
      const vault = await start();
      for (const end of [(entry: LockedEntry) => entry.write({}), (entry: LockedEntry) => entry.remove()]) {
        const { revision } = await writeEntry(vault, keyOf(), { token: "1" });
        await expect(renew(vault, revision, fail)).rejects.toThrow("interrupted");
        await vault.withLock<unknown>(keyOf(), end);
        expect(await renew(vault, revision, () => undefined)).toBe(false);
      }
    });

    test("runs one task at a time under a key, in order, without a warning", async () => {
      const vault = await start();
      const warnings: Error[] = [];
      const onWarning = (warning: Error): void => void warnings.push(warning);
      process.on("warning", onWarning);
      onTestFinished(() => void process.off("warning", onWarning));
      const order: number[] = [];
      let running = 0;
      const tasks = Array.from({ length: 20 }, (_, index) =>
        vault.withLock(keyOf(), async () => {
          running += 1;
          expect(running).toBe(1);
          await new Promise(setImmediate);
          order.push(index);
          running -= 1;
          return index;
        }),
      );
      expect(await Promise.all(tasks)).toEqual(order);
      expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
      expect(warnings).toEqual([]);
    });

    test("runs tasks under different keys at the same time", async () => {
      const vault = await start();
      const both = deferred();
      await vault.withLock(keyOf(), async () => {
        void vault.withLock(keyOf({ profile: "production" }), async () => both.resolve());
        await both.promise;
      });
    });

    test("releases the lock of a failed task, and rejects with its error", async () => {
      const vault = await start();
      const failure = new Error("no");
      await expect(vault.withLock(keyOf(), () => Promise.reject(failure))).rejects.toBe(failure);
      const thrown = (): Promise<void> => {
        throw failure;
      };
      await expect(vault.withLock(keyOf(), thrown)).rejects.toBe(failure);
      expect(await vault.withLock(keyOf(), async () => "free")).toBe("free");
    });

    test("rejects with VAULT_LOCKED after the wait limit, names the entry, and does not run the task", async () => {
      const vault = await start();
      const end = deferred();
      const held = deferred();
      const holder = vault.withLock(keyOf(), () => {
        held.resolve();
        return end.promise;
      });
      await held.promise;
      const ran: string[] = [];
      const waiting = vault.withLock(keyOf(), async () => void ran.push("late"), { waitMs: 20 });
      await expect(waiting).rejects.toMatchObject({
        code: "VAULT_LOCKED",
        message: expect.stringMatching(/tokens of "mail".*20 ms/),
      });
      end.resolve();
      await holder;
      expect(await vault.withLock(keyOf(), async () => "free")).toBe("free");
      expect(ran).toEqual([]);
    });

    test("rejects a caller that gives up with its reason, and runs the next", async () => {
      const vault = await start();
      const end = deferred();
      const reason = new Error("enough");
      const controller = new AbortController();
      const { signal } = controller;
      const holder = vault.withLock(keyOf(), () => end.promise);
      const waiting = vault.withLock(keyOf(), async () => "never", { signal });
      const next = vault.withLock(keyOf(), async () => "next");
      controller.abort(reason);
      await expect(waiting).rejects.toBe(reason);
      await expect(vault.withLock(keyOf(), async () => "never", { signal })).rejects.toBe(reason);
      end.resolve();
      await holder;
      expect(await next).toBe("next");
      expect(getEventListeners(signal, "abort")).toEqual([]);
    });

    test("aborts the signal of a task when its caller gives up, and holds the lock until the task ends", async () => {
      const vault = await start();
      const controller = new AbortController();
      const began = deferred();
      const order: string[] = [];
      const first = vault.withLock(
        keyOf(),
        async (_, signal) => {
          began.resolve();
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          await new Promise(setImmediate);
          order.push("first ended");
        },
        { signal: controller.signal },
      );
      const second = vault.withLock(keyOf(), async () => void order.push("second began"));
      await began.promise;
      controller.abort();
      await Promise.all([first, second]);
      expect(order).toEqual(["first ended", "second began"]);
    });

    test("finishes running tasks when it is disposed of, rejects waiting callers, and does nothing more", async () => {
      const vault = await start();
      const end = deferred();
      const began = deferred();
      const running = vault.withLock(keyOf(), async (entry) => {
        began.resolve();
        await end.promise;
        return entry.write({ token: "rotated" });
      });
      const waiting = vault.withLock(keyOf(), async () => "never").catch((error: unknown) => error);
      await began.promise;
      const disposed = Promise.all([vault.dispose(), vault.dispose()]);
      expect(await waiting).toBeInstanceOf(TypeError);
      end.resolve();
      expect((await running).value).toEqual({ token: "rotated" });
      await disposed;
      await expect(vault.get(keyOf())).rejects.toThrow(TypeError);
      await expect(writeEntry(vault, keyOf(), {})).rejects.toThrow(TypeError);
      await expect(vault.list()).rejects.toThrow(TypeError);
      await expect(vault.withLock(keyOf(), async () => {})).rejects.toThrow(TypeError);
    });

    test("[TS-OAUTH-5] shows no token or key in descriptions, output or errors", async () => {
      const { secrets, ...vault } = await start();
      await writeEntry(vault, keyOf(), { access_token: plantedSecret });
      const shown: unknown[] = [vault, vault.describe(), await vault.list()];
      shown.push(await vault.withLock(keyOf(), (entry) => entry.remove()));
      const text = inspect(shown, { depth: 20, showHidden: true }) + JSON.stringify(shown);
      for (const secret of [plantedSecret, ...secrets]) expect(text).not.toContain(secret);
    });
  });
}
