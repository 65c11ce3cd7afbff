import type { LockedEntry } from "../../vault/vault.js";
import type { ClientStore } from "../clients/client-store.js";
import {
  createLoginStore,
  type HeldToken,
  heldTokenOf,
  isExpired,
  tokenLockWaitMs,
  vaultKeyOf,
  writeTokens,
} from "../login-store.js";
import type { OAuthContext } from "../oauth-context.js";
import type { OAuthLoginOptions } from "./login-options.js";

export interface AdoptParts {
  readonly context: OAuthContext;
  readonly options: OAuthLoginOptions;
  readonly clients: ClientStore;
}

/**
 * Moves the tokens that were stored under another name for the same url, tenant and profile to this server, and copies the client and the
 * issuer that belong to them. Tokens are not copied: two holders of a refresh token that is valid once would sign each other out.
 *
 * Returns undefined, and changes nothing, if none can be used, if this server has its own, or if they are for another issuer, client or
 * set of scopes than this server would request.
 */
export async function adoptSignIn(
  { context, options, clients }: AdoptParts,
  from: string,
): Promise<HeldToken | undefined> {
  const { vault } = context;
  const other = { ...context, server: from };
  const ownStore = createLoginStore(context);
  const pin = await createLoginStore(other).readPin();
  if (pin === undefined || options.grant !== undefined || from === options.server) return undefined;
  const { issuer } = pin;
  if (issuer !== (options.issuer ?? (await ownStore.readPin())?.issuer ?? issuer)) return undefined;
  const move = async (source: LockedEntry, target: LockedEntry): Promise<HeldToken | undefined> => {
    const held = heldTokenOf(context, await source.read());
    if (held === undefined || (await target.read()) !== undefined) return undefined;
    const { record } = held;
    if (record.refreshToken === undefined && isExpired(record, context.clock.now())) return undefined;
    if (options.scopes !== undefined && !isSameSet(options.scopes, record.requestedScopes)) return undefined;
    if (!(await clients.adopt(issuer, record.clientId, vaultKeyOf(other, issuer, "client")))) return undefined;
    await ownStore.writePin(pin);
    const moved = await writeTokens(target, record);
    await source.remove();
    return moved;
  };
  // Both, so that no process renews them meanwhile; in one order, so that two that move tokens to each other do not wait for each other.
  const [theirs, own] = [vaultKeyOf(other, issuer, "tokens"), vaultKeyOf(context, issuer, "tokens")];
  const wait = { waitMs: tokenLockWaitMs };
  return from < options.server
    ? vault.withLock(theirs, (source) => vault.withLock(own, (target) => move(source, target), wait), wait)
    : vault.withLock(own, (target) => vault.withLock(theirs, (source) => move(source, target), wait), wait);
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return new Set(a).size === new Set(b).size && a.every((each) => b.includes(each));
}
