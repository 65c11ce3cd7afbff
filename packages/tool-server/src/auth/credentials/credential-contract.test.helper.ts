import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { createSecretRegistry, type SecretRegistry } from "../../secrets/redactor.js";
import type { Credential, Refusal } from "./credential.js";

/** A credential to test against the contract. */
export interface ContractSubject {
  readonly credential: Credential;
  /** Every secret that it resolves. */
  readonly secrets: readonly string[];
  /** How often it obtained its headers. */
  work(): number;
  /** Makes it obtain new headers, if it ever does. */
  expire?(): void;
}

/** The contract of every kind of credential. */
export function describeCredentialContract(
  name: string,
  create: (registry: SecretRegistry) => Promise<ContractSubject>,
): void {
  const start = async (): Promise<ContractSubject & { readonly registry: SecretRegistry }> => {
    const registry = createSecretRegistry();
    return { ...(await create(registry)), registry };
  };

  describe(`${name} fulfils the contract of a credential`, () => {
    test("returns the same frozen headers until they are renewed", async () => {
      const { credential, expire } = await start();
      const first = await credential.headers();
      expect(await credential.headers()).toBe(first);
      expect(Object.isFrozen(first)).toBe(true);
      expect(credential.environment()).toEqual(credential.environment());
      expect([undefined, first]).toContain(credential.headersNow?.());
      if (expire !== undefined) {
        expire();
        expect(await credential.headers()).not.toBe(first);
      }
      await credential.dispose();
    });

    test("adds every secret to the registry, and shows none in descriptions or errors", async () => {
      const { credential, secrets, registry } = await start();
      const shown: unknown[] = [credential.describe()];
      const sent = await credential.headers();
      for (const secret of secrets) expect(registry.redact(`<${secret}>`)).not.toContain(secret);
      shown.push(credential.describe());
      for (const attempt of [1, 2]) shown.push(await credential.refused({ status: 401, sent, attempt }));
      await credential.dispose();
      shown.push(credential.describe(), await credential.headers().catch((error: unknown) => error));
      const text = inspect(shown, { depth: 10, showHidden: true });
      for (const secret of secrets) expect(text).not.toContain(secret);
    });

    test("retries at most once after a refusal, and never after another status", async () => {
      const { credential } = await start();
      for (const status of [401, 403]) {
        const actions: string[] = [];
        for (let attempt = 1; attempt < 10; attempt += 1) {
          const refusal: Refusal = { status, sent: await credential.headers(), attempt };
          const { action } = await credential.refused(refusal);
          actions.push(action);
          if (action === "give-up") break;
        }
        expect(actions.at(-1)).toBe("give-up");
        expect(actions.length).toBeLessThanOrEqual(2);
      }
      const sent = await credential.headers();
      for (const status of [400, 404, 429, 500]) {
        expect(await credential.refused({ status, sent, attempt: 1 })).toMatchObject({ action: "give-up" });
      }
      await credential.dispose();
    });

    test("shares the work among concurrent callers", async () => {
      const { credential, work } = await start();
      const all = await Promise.all(Array.from({ length: 20 }, () => credential.headers()));
      expect(new Set(all).size).toBe(1);
      expect(work()).toBeLessThanOrEqual(1);
      await credential.dispose();
    });

    test("rejects a caller that gives up with its reason, affects no other caller and leaves no listener", async () => {
      const { credential } = await start();
      const reason = new Error("enough");
      await expect(credential.headers({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      const controller = new AbortController();
      const result = credential.headers({ signal: controller.signal }).catch((error: unknown) => error);
      const other = credential.headers();
      controller.abort(reason);
      const headers = await other;
      // A caller whose result was available got it before the signal aborted.
      expect([reason, headers]).toContain(await result);
      expect(await credential.headers()).toBe(headers);
      expect(getEventListeners(controller.signal, "abort")).toEqual([]);
      await credential.dispose();
    });

    test("runs nothing and starts nothing after it was disposed of", async () => {
      const { credential, work } = await start();
      const result = credential.headers().catch((error: unknown) => error);
      await Promise.all([credential.dispose(), credential.dispose()]);
      await result;
      const done = work();
      const closed = { name: "ToolServerError", code: "CREDENTIAL_CLOSED" };
      await expect(credential.headers()).rejects.toMatchObject(closed);
      if (credential.headersNow !== undefined) expect(credential.headersNow).toThrow(expect.objectContaining(closed));
      expect(work()).toBe(done);
    });
  });
}
