import type { OAuthDescription } from "../../../connection-info.js";
import { ToolServerError } from "../../../errors.js";
import { credentialClosed } from "../../credentials/credential.js";
import type { VaultKey } from "../../vault/vault.js";
import { type ClientStore, createClientStore } from "../clients/client-store.js";
import { discoverIssuer } from "../discovery/discover.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import { parseResourceChallenge, type ResourceChallenge } from "../discovery/resource-challenge.js";
import { maxScopes, scopesBeyond, unionOf } from "../discovery/scopes.js";
import {
  createLoginStore,
  type HeldToken,
  heldTokenOf,
  type LoginStore,
  scopesOf,
  type TokenRecord,
  vaultKeyOf,
} from "../login-store.js";
import type { OAuthContext } from "../oauth-context.js";
import type { Ask } from "../sign-in/ask.js";
import { isPortInUse } from "../sign-in/loopback.js";
import { type SignInOptions, signIn } from "../sign-in/sign-in.js";
import { createSignInRun } from "../sign-in/sign-in-run.js";
import { grantName } from "../tokens/machine-grant.js";
import { createTokenRenewer } from "../tokens/renewal.js";
import { createTokenManager, type TokenManager } from "../tokens/token-manager.js";
import { adoptSignIn } from "./adopt-sign-in.js";
import { contextOf, type OAuthLoginOptions } from "./login-options.js";
import { createAcquirer } from "./machine-login.js";
import { type SignOutOptions, type SignOutReport, signOut } from "./sign-out.js";

/**
 * OAuth for one tool server, profile and tenant: its authorization server, its client and its tokens. Create one and share it:
 * concurrent calls share one sign-in and one renewal.
 */
export interface OAuthLogin {
  readonly context: OAuthContext;
  /** Whether tokens are obtained without a user. */
  readonly isMachine: boolean;
  /** Whether a user is being asked to sign in now. */
  readonly isSigningIn: boolean;
  /** What is stored about the login, such as its last failure. */
  readonly store: LoginStore;
  /** The metadata of an authorization server; from memory if it was read a short time ago. */
  authorizationServer(issuer: string): Promise<AuthorizationServer>;
  /**
   * The tokens of the authorization server in use; undefined before the first sign-in. If tokens are obtained without a user and a
   * challenge is given, the authorization server is discovered first.
   */
  tokens(options?: TokenLookup): Promise<TokenManager | undefined>;
  /** The current token if nothing has to be read or renewed for it; null for none; undefined if `tokens` has to be called. */
  cachedToken(): HeldToken | null | undefined;
  /** Remembers scopes that a call needs while the user cannot be asked: the next sign-in requests them too. */
  requestScopesLater(scopes: readonly string[]): void;
  /**
   * Asks the user to sign in. Callers join a sign-in in progress, and of several processes one asks. Rejects with
   * SIGN_IN_FAILED, ISSUER_CHANGED, AUTHORIZATION_ORIGIN_UNCONFIRMED, AUTHORIZATION_SERVER_INVALID, REGISTRATION_REFUSED or TOKEN_REFUSED.
   */
  signIn(ask: Ask, options?: SignInOptions, signal?: AbortSignal): Promise<HeldToken>;
  /**
   * Gets a token: with the grant of the machine if there is one, else by asking the user, as `signIn` does. The grant requests no token if
   * the vault has a valid one.
   */
  obtainToken(ask: Ask, options?: SignInOptions, signal?: AbortSignal): Promise<void>;
  /**
   * Uses the tokens that were obtained under another name for the same url, tenant and profile, and removes them there. Returns undefined, and
   * changes nothing, if there are none, or if they are not for the client, the scopes or the issuer of this login.
   */
  adoptSignIn(from: string): Promise<HeldToken | undefined>;
  /** Revokes the tokens if the server supports it, deletes them here, and sends an old one to check that it is refused. */
  signOut(signal?: AbortSignal, signOutOptions?: SignOutOptions): Promise<SignOutReport>;
  /** The state of the sign-in. Reads the vault. */
  status(): Promise<OAuthDescription>;
  /** The same from memory, without reading the vault. */
  describe(): OAuthDescription;
  /**
   * Calls `listener` after a sign-in of this login, and watches the vault: calls it when another process has signed in, renewed the
   * token or signed out; the login then uses the new tokens. Other changes of this process at the same time may be reported too.
   * Returns a function that stops watching.
   */
  watch(listener: (change: TokenChange) => void): () => void;
  /** Aborts a sign-in in progress, and waits for a renewal in progress. */
  close(): Promise<void>;
}

/** How a token is looked up. */
export interface TokenLookup {
  /** Whether to read the issuer from the vault again. Default false. */
  readonly isFresh?: boolean | undefined;
  /** What the tool server requires. */
  readonly challenge?: ResourceChallenge | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A change of the tokens of a login. */
export type TokenChange = "signed-in" | "renewed" | "signed-out";

/** How long the metadata of an issuer is cached. */
const metadataMs = 600_000;

/** Throws a TypeError if the options are invalid. */
export function createOAuthLogin(options: OAuthLoginOptions): OAuthLogin {
  const { vault, grant } = options;
  const context = contextOf(options);
  const { clock } = context;
  const clientsOf = (key: VaultKey): ClientStore =>
    createClientStore(context, {
      vault,
      keyOf: (issuer) => ({ ...key, issuer, item: "client" }),
      configured: options.client,
      metadataUrl: options.clientMetadataUrl,
    });
  const clients = clientsOf(vaultKeyOf(context, "", "client"));
  const store = createLoginStore(context);
  const acquirer = grant === undefined ? undefined : createAcquirer(context, options, clients, grant);

  let active: { readonly issuer: string; readonly tokens: TokenManager } | undefined;
  let metadata:
    | { readonly issuer: string; readonly server: Promise<AuthorizationServer>; readonly until: number }
    | undefined;
  let isPinRead = false;
  let isClosed = false;

  const serverOf = (issuer: string): Promise<AuthorizationServer> => {
    if (metadata?.issuer === issuer && clock.now() < metadata.until) return metadata.server;
    // A sign-out revokes tokens even if the entry of the issuer is damaged.
    const pinned = store.readPin().catch(() => undefined);
    const server = pinned.then((pin) => discoverIssuer(context, issuer, pin?.issuer === issuer && pin.isPublished));
    metadata = { issuer, server, until: clock.now() + metadataMs };
    server.catch(() => {
      if (metadata?.server === server) metadata = undefined;
    });
    return server;
  };

  /** Whether tokens were obtained in the way of this login: those of a user, or of another client, are not used for it. */
  const accepts = (record: TokenRecord): boolean => {
    if (grant === undefined || record.grant === undefined) return grant === undefined && record.grant === undefined;
    return record.grant === grantName(grant) && record.clientId === (options.client?.clientId ?? record.clientId);
  };

  const tokensOf = (issuer: string): TokenManager => {
    if (active?.issuer === issuer) return active.tokens;
    void active?.tokens.stop(new DOMException("The authorization server changed.", "AbortError"));
    const tokens = createTokenManager({
      ...context,
      vault,
      key: vaultKeyOf(context, issuer, "tokens"),
      renew: createTokenRenewer(context, clients, () => serverOf(issuer)),
      store,
      accepts,
      acquire: acquirer === undefined ? undefined : async () => acquirer.acquire(await serverOf(issuer)),
    });
    active = { issuer, tokens };
    return tokens;
  };

  const readIssuer = async (): Promise<string | undefined> => options.issuer ?? (await store.readPin())?.issuer;

  const tokens: OAuthLogin["tokens"] = async ({ isFresh = false, challenge, signal } = {}) => {
    if (isClosed) throw credentialClosed(context.server);
    if (!isPinRead || isFresh) {
      const issuer = await readIssuer();
      isPinRead = true;
      if (issuer !== undefined) return tokensOf(issuer);
    } else if (active !== undefined) return active.tokens;
    // Requests are sent without a token then; the vault is read again when one is refused.
    if (acquirer === undefined || challenge === undefined) return undefined;
    const { issuer, isAssumed } = await acquirer.discover(challenge, signal);
    const isPublished = isAssumed ? undefined : true;
    await store.writePin({ issuer, confirmedOrigins: [], requestedScopes: [], isPublished });
    return tokensOf(issuer);
  };

  let pendingScopes: readonly string[] = [];

  const descriptionOf = (held: HeldToken | undefined, pausedUntil: number | undefined): OAuthDescription => ({
    isSignedIn: held !== undefined,
    ...(run.isRunning && { isSigningIn: true }),
    issuer: active?.issuer,
    account: held?.record.identity,
    scopes: held === undefined ? undefined : scopesOf(held.record),
    expiresAt: held?.record.expiresAt,
    obtainedAt: held?.record.obtainedAt,
    tokenType: held?.record.tokenType,
    canRefresh: held?.record.refreshToken !== undefined || acquirer !== undefined,
    pausedUntil,
  });
  const describe = (): OAuthDescription => {
    const { held, pausedUntil } = active?.tokens.state ?? { held: undefined, pausedUntil: undefined };
    return descriptionOf(held, pausedUntil);
  };

  /** Adopts the tokens in the vault; undefined if nothing changed. */
  const adoptStored = async (): Promise<TokenChange | undefined> => {
    const before = active?.tokens.state.held?.revision;
    const issuer = await readIssuer();
    // A sign-in of this login may be about to change the issuer, and adopts its own tokens.
    if (run.isRunning || isClosed) return undefined;
    isPinRead = true;
    const found = issuer === undefined ? undefined : tokensOf(issuer);
    await found?.reload();
    const after = found?.state.held?.revision;
    if (before === after) return undefined;
    return after === undefined ? "signed-out" : before === undefined ? "signed-in" : "renewed";
  };

  const listeners = new Set<(change: TokenChange) => void>();
  const notify = (change: TokenChange | undefined): void => {
    if (change !== undefined) for (const listener of [...listeners]) listener(change);
  };

  const parts = { context, clients, store, tokens, tokensOf };
  const run = createSignInRun(context, (ask, signInOptions, signal, asked) =>
    context.log.run("sign-in", signInOptions.reason ?? "asked", async (setEnding) => {
      try {
        const task = (): Promise<HeldToken> => signIn(parts, ask, signInOptions, signal, setEnding);
        const held = await withClaim(context, task, signal, asked);
        // Also scopes that were not granted are not requested again: the call that needs them reports that.
        pendingScopes = scopesBeyond(held.record.requestedScopes, pendingScopes);
        await store.clearFailure();
        notify("signed-in");
        return held;
      } catch (error) {
        // The authorization server that it tried is not the one of a sign-in.
        if (active?.tokens.state.held === undefined) {
          active = undefined;
          isPinRead = false;
        }
        if (!signal.aborted && !signInOptions.isDryRun) await store.keepFailure("sign-in", error);
        throw error;
      }
    }),
  );

  const login: OAuthLogin = {
    context,
    isMachine: acquirer !== undefined,
    get isSigningIn() {
      return run.isRunning;
    },
    store,
    authorizationServer: serverOf,
    tokens,
    cachedToken() {
      if (isClosed || !isPinRead) return undefined;
      return active === undefined ? null : active.tokens.cached();
    },
    requestScopesLater(scopes) {
      pendingScopes = unionOf(pendingScopes, scopes).slice(0, maxScopes);
    },
    async signIn(ask, signInOptions = {}, signal) {
      if (isClosed) throw credentialClosed(context.server);
      if (acquirer !== undefined) throw new TypeError("This server signs in without a user.");
      const scopes = unionOf(signInOptions.scopes ?? [], pendingScopes);
      return run.join(ask, { ...signInOptions, scopes }, signal);
    },
    async obtainToken(ask, signInOptions, signal) {
      if (acquirer === undefined) {
        await login.signIn(ask, signInOptions, signal);
        return;
      }
      const challenge = parseResourceChallenge(undefined);
      const obtained = await (await tokens({ isFresh: true, challenge, signal }))?.replace(undefined, signal);
      if (obtained !== undefined) notify("signed-in");
    },
    adoptSignIn: (from) => adoptSignIn({ context, options, clients }, from),
    async signOut(signal, signOutOptions) {
      const used = active?.tokens;
      active = undefined;
      isPinRead = false;
      pendingScopes = [];
      // Tokens that are being renewed are deleted as well.
      await used?.stop(credentialClosed(context.server));
      const report = await signOut({ context, clientsOf, serverOf }, signal, signOutOptions);
      const pin = await store.readPin().catch(() => undefined);
      if (pin !== undefined && pin.requestedScopes.length > 0) await store.writePin({ ...pin, requestedScopes: [] });
      return report;
    },
    async status() {
      const found = await tokens({ isFresh: true });
      if (found === undefined) return describe();
      // A caller that learns here that another process has signed in can use the server at once.
      notify(await adoptStored());
      const held = heldTokenOf(context, await vault.get(vaultKeyOf(context, active?.issuer ?? "", "tokens")));
      return descriptionOf(held && accepts(held.record) ? held : undefined, found.state.pausedUntil);
    },
    describe,
    watch(listener) {
      const own = (change: TokenChange): void => listener(change);
      listeners.add(own);
      let reading = Promise.resolve();
      const readStored = async (): Promise<void> => {
        if (!listeners.has(own) || isClosed) return;
        // The next request that needs the tokens reports that they cannot be read, or that the vault was disposed of.
        notify(await adoptStored().catch(() => undefined));
      };
      const stop = vault.watch(() => {
        reading = reading.then(readStored);
      });
      return () => {
        listeners.delete(own);
        stop();
      };
    },
    async close() {
      isClosed = true;
      const reason = credentialClosed(context.server);
      await Promise.all([run.close(reason), active?.tokens.stop(reason)]);
    },
  };
  return login;
}

/** How long to wait for another process before that is reported. */
const quietWaitMs = 300;

/**
 * Runs a sign-in, one at a time in all processes that start one by themselves. One that a user starts does not wait: the page that
 * another process shows may be lost. `asked` aborts as soon as a user takes part.
 */
async function withClaim(
  context: OAuthContext,
  task: () => Promise<HeldToken>,
  signal: AbortSignal,
  asked: AbortSignal,
): Promise<HeldToken> {
  const { vault, log, limits } = context;
  const key = vaultKeyOf(context, "", "sign-in");
  let isClaimed = false;
  const claim = (waitMs: number, until: AbortSignal): Promise<HeldToken> => {
    const claimed = (): Promise<HeldToken> => {
      isClaimed = true;
      return task();
    };
    return vault.withLock(key, claimed, { signal: until, waitMs });
  };
  const waitForClaim = (until: AbortSignal): Promise<HeldToken> => {
    log.note("waiting", "Another process is signing in to this server; waiting for it.");
    return claim(limits.signInMs, until);
  };
  try {
    return await claim(quietWaitMs, signal);
  } catch (error) {
    if (isClaimed || !ToolServerError.is(error, "VAULT_LOCKED")) throw error;
  }
  if (!asked.aborted) {
    try {
      return await waitForClaim(AbortSignal.any([signal, asked]));
    } catch (error) {
      if (isClaimed || signal.aborted || !asked.aborted) throw error;
    }
  }
  try {
    return await task();
  } catch (error) {
    if (!isPortInUse(error)) throw error;
  }
  // The other process listens on the port that the client is registered with.
  return waitForClaim(signal);
}
