import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../json-object.js";
import type { Vault, VaultKey } from "./vault.js";

/** A vault key, with some parts replaced. */
export function keyOf(parts: Partial<VaultKey> = {}): VaultKey {
  return {
    profile: "development",
    server: "mail",
    resource: "https://mcp.example.com/mcp",
    issuer: "https://login.example.com",
    tenant: "",
    item: "tokens",
    ...parts,
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
      const put = await vault.put(keyOf(), value);
      expect(put.value).toEqual(value);
      expect(await vault.get(keyOf())).toEqual(put);
    });

    test("reports stored and deleted entries to watchers", async () => {
      const vault = await start();
      let seen: string | undefined = "nothing";
      const stop = vault.watch(async () => {
        seen = (await vault.get(keyOf()))?.revision;
      });
      const { revision } = await vault.put(keyOf(), { a: 1 });
      await expect.poll(() => seen).toBe(revision);
      expect(await vault.deleteIf(keyOf(), revision)).toBe(true);
      await expect.poll(() => seen).toBeUndefined();
      stop();
    });

    test("stores more than a keychain item can hold", async () => {
      const vault = await start();
      const value = { access: "a".repeat(20_000), refresh: "r".repeat(20_000) };
      await vault.put(keyOf(), value);
      expect((await vault.get(keyOf()))?.value).toEqual(value);
    });

    test("gives each write its own revision, even for the same value", async () => {
      const vault = await start();
      const first = await vault.put(keyOf(), { token: "1" });
      const second = await vault.put(keyOf(), { token: "1" });
      expect(second.revision).not.toBe(first.revision);
      expect((await vault.get(keyOf()))?.revision).toBe(second.revision);
    });

    test("keeps its values when stored or returned objects are mutated", async () => {
      const vault = await start();
      const given: { token: string } = { token: "1" };
      const put = await vault.put(keyOf(), given);
      given.token = "2";
      Object.assign(put.value, { token: "3" });
      Object.assign((await vault.get(keyOf()))?.value ?? {}, { token: "4" });
      expect((await vault.get(keyOf()))?.value).toEqual({ token: "1" });
    });

    test("keeps entries separate whose keys differ in one part: profiles, tenants, issuers and urls", async () => {
      const vault = await start();
      const parts = Object.keys(keyOf()) as (keyof VaultKey)[];
      const keys = [keyOf(), ...parts.map((part) => keyOf({ [part]: "other" }))];
      for (const [index, key] of keys.entries()) await vault.put(key, { index });
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
      await expect(vault.put(incomplete as VaultKey, {})).rejects.toThrow(TypeError);
      await expect(vault.withLock(incomplete as VaultKey, async () => {})).rejects.toThrow(TypeError);
      await expect(vault.put(keyOf(), [] as unknown as JsonObject)).rejects.toThrow(TypeError);
      await expect(vault.put(keyOf(), { large: "x".repeat(600_000) })).rejects.toThrow(TypeError);
      expect(await vault.list()).toEqual({ keys: [], unreadable: [] });
    });

    test("[TS-D-STORE-5] deletes an entry only if its revision matches", async () => {
      const vault = await start();
      expect(await vault.deleteIf(keyOf(), "none")).toBe(false);
      const old = await vault.put(keyOf(), { token: "old" });
      const fresh = await vault.put(keyOf(), { token: "fresh" });
      expect(await vault.deleteIf(keyOf(), old.revision)).toBe(false);
      expect((await vault.get(keyOf()))?.value).toEqual({ token: "fresh" });
      expect(await vault.deleteIf(keyOf(), fresh.revision)).toBe(true);
      expect(await vault.get(keyOf())).toBeUndefined();
      expect(await vault.list()).toEqual({ keys: [], unreadable: [] });
    });

    test("never deletes a new value with the revision of the old one, in any interleaving", async () => {
      const vault = await start();
      let { revision } = await vault.put(keyOf(), { round: -1 });
      for (let round = 0; round < 30; round += 1) {
        const put = async (): Promise<void> => {
          for (let turns = 0; turns < round % 10; turns += 1) await new Promise(setImmediate);
          revision = (await vault.put(keyOf(), { round })).revision;
        };
        await Promise.all([vault.deleteIf(keyOf(), revision), put()]);
        expect((await vault.get(keyOf()))?.value).toEqual({ round });
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

    test("lets the holder of a lock read, write and delete", async () => {
      const vault = await start();
      const token = await vault.withLock(keyOf(), async () => {
        const { revision } = await vault.put(keyOf(), { token: "1" });
        await vault.deleteIf(keyOf(), revision);
        await vault.put(keyOf(), { token: "2" });
        return (await vault.get(keyOf()))?.value.token;
      });
      expect(token).toBe("2");
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
        async (signal) => {
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
      const running = vault.withLock(keyOf(), async () => {
        began.resolve();
        await end.promise;
        return vault.put(keyOf(), { token: "rotated" });
      });
      const waiting = vault.withLock(keyOf(), async () => "never").catch((error: unknown) => error);
      await began.promise;
      const disposed = Promise.all([vault.dispose(), vault.dispose()]);
      expect(await waiting).toBeInstanceOf(TypeError);
      end.resolve();
      expect((await running).value).toEqual({ token: "rotated" });
      await disposed;
      await expect(vault.get(keyOf())).rejects.toThrow(TypeError);
      await expect(vault.put(keyOf(), {})).rejects.toThrow(TypeError);
      await expect(vault.deleteIf(keyOf(), "")).rejects.toThrow(TypeError);
      await expect(vault.list()).rejects.toThrow(TypeError);
      await expect(vault.withLock(keyOf(), async () => {})).rejects.toThrow(TypeError);
    });

    test("[TS-OAUTH-5] shows no token or key in descriptions, output or errors", async () => {
      const { secrets, ...vault } = await start();
      await vault.put(keyOf(), { access_token: plantedSecret });
      const shown: unknown[] = [vault, vault.describe(), await vault.list()];
      shown.push(await vault.deleteIf(keyOf(), plantedSecret));
      const text = inspect(shown, { depth: 20, showHidden: true }) + JSON.stringify(shown);
      for (const secret of [plantedSecret, ...secrets]) expect(text).not.toContain(secret);
    });
  });
}
