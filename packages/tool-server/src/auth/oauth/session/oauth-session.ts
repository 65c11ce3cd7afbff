import type { OAuthDescription } from "../../../connection-info.js";
import { ToolServerError } from "../../../errors.js";
import { createSingleFlight, type SingleFlight } from "../../../single-flight.js";
import { credentialClosed } from "../../credentials/credential-closed.js";
import { mostScopes, unionOf } from "../authorization/scopes.js";
import type { AuthorizationServer } from "../discovery/authorization-server.js";
import { discoverIssuer } from "../discovery/discover.js";
import type { OAuthContext } from "../oauth-context.js";
import { type ClientStore, createClientStore } from "../registration/client-store.js";
import type { SignIn } from "../sign-in/sign-in.js";
import { signOut } from "../sign-out/sign-out.js";
import type { SignOutReport } from "../sign-out/sign-out-report.js";
import { createTokenManager, type TokenManager } from "../tokens/token-manager.js";
import { scopesOf } from "../tokens/token-record.js";
import { createTokenStore, type HeldToken } from "../tokens/token-store.js";
import { createIssuerStore } from "./issuer-store.js";
import { createAcquirer } from "./machine-session.js";
import type { ResourceChallenge } from "./resource-challenge.js";
import { contextOf, type OAuthSessionOptions, vaultKeyOf } from "./session-options.js";
import { runSignIn, type SignInWish } from "./session-sign-in.js";
import { createTokenRenewer } from "./token-renewer.js";

/**
 * All that OAuth is about one tool server, for one profile and tenant: its authorization server, its client, its tokens. Make one, and
 * share it: what several ask of it at once is done once.
 */
export interface OAuthSession {
  readonly context: OAuthContext;
  /** Whether tokens are got without a person. */
  readonly isMachine: boolean;
  /** Whether a person is asked to sign in right now. */
  readonly isSigningIn: boolean;
  /** A token to send now; undefined where there is none. See `TokenManager`. */
  current(signal?: AbortSignal): Promise<HeldToken | undefined>;
  /** What `current` gives where it takes no waiting: a token, or null for none; undefined where it does. */
  atHand(): HeldToken | null | undefined;
  /** Another token than the one that was refused, or than none; undefined where a person has to sign in. */
  replace(
    refused: HeldToken | undefined,
    challenge: ResourceChallenge,
    signal?: AbortSignal,
  ): Promise<HeldToken | undefined>;
  /** Leaves a token alone for a while, which was refused though it was new. */
  rest(refused: HeldToken): void;
  /** Remembers permissions that a call needs, and nobody was there to be asked for: the next sign-in asks for them too. */
  owe(scopes: readonly string[]): void;
  /**
   * Lets a person sign in; whoever asks while one is under way joins it, and of several processes one asks. Rejects with
   * SIGN_IN_FAILED, ISSUER_CHANGED, AUTHORIZATION_ORIGIN_UNCONFIRMED, AUTHORIZATION_SERVER_INVALID, REGISTRATION_REFUSED or TOKEN_REFUSED.
   */
  signIn(signIn: SignIn, wish?: SignInWish, signal?: AbortSignal): Promise<HeldToken>;
  /** Revokes the tokens where the server can, wipes them here, and tries an old one to prove that it is refused. */
  signOut(signal?: AbortSignal): Promise<SignOutReport>;
  /** What is known of the sign-in, with a look into the vault. */
  status(): Promise<OAuthDescription>;
  /** The same, as far as it is known without. */
  describe(): OAuthDescription;
  /**
   * Watches the vault, and calls `listener` when another process has signed in, renewed the token or signed out; the session
   * uses what is there by then. What this process does at the same time may be reported as well. Returns how to stop.
   */
  watch(listener: (change: TokenChange) => void): () => void;
  /** Ends what is under way; a renewal that began comes to its end first. */
  close(): Promise<void>;
}

/** What another process did with the tokens of a session. */
export type TokenChange = "signed-in" | "renewed" | "signed-out";

/** The metadata of an issuer is believed for so long. */
const metadataMs = 600_000;

/** Throws a TypeError where the options cannot be used. */
export function createOAuthSession(options: OAuthSessionOptions): OAuthSession {
  const { vault, grant } = options;
  const context = contextOf(options);
  const { clock } = context;
  const clients: ClientStore = createClientStore(context, {
    vault,
    keyOf: (issuer) => vaultKeyOf(options, issuer, "client"),
    configured: options.client,
    metadataUrl: options.clientMetadataUrl,
  });
  const issuers = createIssuerStore(context, vault, vaultKeyOf(options, "", "issuer"));
  const acquirer = grant === undefined ? undefined : createAcquirer(context, options, clients, grant);

  let active: { readonly issuer: string; readonly manager: TokenManager } | undefined;
  let metadata:
    | { readonly issuer: string; readonly server: Promise<AuthorizationServer>; readonly until: number }
    | undefined;
  let isLookedUp = false;
  let isClosed = false;

  const serverOf = (issuer: string): Promise<AuthorizationServer> => {
    if (metadata?.issuer === issuer && clock.now() < metadata.until) return metadata.server;
    const server = discoverIssuer(context, issuer);
    metadata = { issuer, server, until: clock.now() + metadataMs };
    server.catch(() => {
      if (metadata?.server === server) metadata = undefined;
    });
    return server;
  };

  const managerOf = (issuer: string): TokenManager => {
    if (active?.issuer === issuer) return active.manager;
    void active?.manager.close(new DOMException("Another authorization server is used now.", "AbortError"));
    const manager = createTokenManager({
      ...context,
      store: createTokenStore(context, vault, vaultKeyOf(options, issuer, "tokens")),
      renew: createTokenRenewer(context, clients, () => serverOf(issuer)),
      acquire: acquirer === undefined ? undefined : async () => acquirer.acquire(await serverOf(issuer)),
    });
    active = { issuer, manager };
    return manager;
  };

  /** The manager of the issuer that is pinned; looks into the vault at first, and whenever asked to. */
  const pinned = async (isFresh = false): Promise<TokenManager | undefined> => {
    if (isClosed) throw credentialClosed(context.server);
    // Who finds nothing goes without a token, and looks again when that is refused.
    if (isLookedUp && !isFresh) return active?.manager;
    const issuer = options.issuer ?? (await issuers.read())?.issuer;
    isLookedUp = true;
    return issuer === undefined ? undefined : managerOf(issuer);
  };

  let signingIn: SingleFlight<HeldToken> | undefined;
  let owed: readonly string[] = [];

  const descriptionOf = (held: HeldToken | undefined, pausedUntil: number | undefined): OAuthDescription => ({
    isSignedIn: held !== undefined,
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
    const { held, pausedUntil } = active?.manager.describe() ?? { held: undefined, pausedUntil: undefined };
    return descriptionOf(held, pausedUntil);
  };

  /** Takes over what the vault has by now; undefined if nothing changed. */
  const follow = async (): Promise<TokenChange | undefined> => {
    const before = active?.manager.describe().held?.revision;
    const issuer = options.issuer ?? (await issuers.read())?.issuer;
    // A sign-in of this session may be about to change the issuer, and leaves the session with what it gave.
    if (signingIn !== undefined || isClosed) return undefined;
    isLookedUp = true;
    const manager = issuer === undefined ? undefined : managerOf(issuer);
    await manager?.reload();
    const after = manager?.describe().held?.revision;
    if (before === after) return undefined;
    return after === undefined ? "signed-out" : before === undefined ? "signed-in" : "renewed";
  };

  return {
    context,
    isMachine: acquirer !== undefined,
    get isSigningIn() {
      return signingIn !== undefined;
    },
    current: async (signal) => (await pinned())?.current(signal),
    atHand() {
      if (isClosed || !isLookedUp) return undefined;
      return active === undefined ? null : active.manager.atHand();
    },
    async replace(refused, challenge, signal) {
      const manager = await pinned(refused === undefined);
      const found = await manager?.replace(refused, signal);
      if (found !== undefined || acquirer === undefined || manager !== undefined) return found;
      const server = await acquirer.discover(challenge, signal);
      await issuers.write({ issuer: server.issuer, confirmedOrigins: [], requestedScopes: [] });
      return managerOf(server.issuer).replace(refused, signal);
    },
    rest: (refused) => active?.manager.rest(refused),
    owe(scopes) {
      owed = unionOf(owed, scopes).slice(0, mostScopes);
    },
    async signIn(signIn, wish = {}, signal) {
      if (isClosed) throw credentialClosed(context.server);
      if (acquirer !== undefined) throw new TypeError("This server is signed in to without a person.");
      // Of those who join, the first one's wish counts.
      signingIn ??= createSingleFlight(async (abort) => {
        const parts = { context, options, clients, issuers, managerOf, pinned };
        const whole = { ...wish, scopes: unionOf(wish.scopes ?? [], owed) };
        try {
          const held = await runSignIn(parts, signIn, whole, abort);
          // Also what was not granted: who needs it is told so, and nobody is asked for it forever.
          owed = [];
          return held;
        } finally {
          signingIn = undefined;
        }
      });
      return signingIn.join(signal);
    },
    async signOut(signal) {
      const manager = active?.manager;
      active = undefined;
      isLookedUp = false;
      owed = [];
      // What is being renewed is to be wiped as well.
      await manager?.close(credentialClosed(context.server));
      const report = await signOut({ context, options, clients, serverOf }, signal);
      const pin = await issuers.read().catch(() => undefined);
      if (pin !== undefined && pin.requestedScopes.length > 0) await issuers.write({ ...pin, requestedScopes: [] });
      return report;
    },
    async status() {
      const manager = await pinned(true);
      if (manager === undefined) return describe();
      const held = await createTokenStore(context, vault, vaultKeyOf(options, active?.issuer ?? "", "tokens")).read();
      return descriptionOf(held, manager.describe().pausedUntil);
    },
    describe,
    watch(listener) {
      let isStopped = false;
      let looking = Promise.resolve();
      const look = async (): Promise<void> => {
        try {
          const change = isStopped || isClosed ? undefined : await follow();
          if (change !== undefined && !isStopped) listener(change);
        } catch (error) {
          // What cannot be read is reported to the next request that needs it.
          if (!ToolServerError.is(error) && !isClosed) throw error;
        }
      };
      const stop = vault.watch(() => {
        looking = looking.then(look);
      });
      return () => {
        isStopped = true;
        stop();
      };
    },
    async close() {
      isClosed = true;
      const reason = credentialClosed(context.server);
      await Promise.all([signingIn?.close(reason), active?.manager.close(reason)]);
    },
  };
}
