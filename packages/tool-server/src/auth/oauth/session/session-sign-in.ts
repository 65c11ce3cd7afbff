import { ToolServerError } from "../../../errors.js";
import type { Vault, VaultKey } from "../../vault/vault.js";
import type { ClientStore } from "../clients/client-store.js";
import { type Discovery, discover } from "../discovery/discover.js";
import { requestRules } from "../discovery/known-issuers.js";
import { parseResourceChallenge, probeChallenge, type ResourceChallenge } from "../discovery/resource-challenge.js";
import { scopesBeyond, selectScopes, unionOf } from "../discovery/scopes.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-errors.js";
import type { SetEnding } from "../oauth-log.js";
import { createConfirmOrigin, type SignIn, type SignInReason } from "../sign-in/sign-in.js";
import { runSignInFlow } from "../sign-in/sign-in-flow.js";
import { createProofKey } from "../tokens/proof-key.js";
import type { TokenManager } from "../tokens/token-manager.js";
import { type HeldToken, isExpired, scopesOf, type TokenRecord } from "../tokens/token-store.js";
import { type IssuerStore, issuerChanged } from "./issuer-store.js";
import { type OAuthSessionOptions, type SessionItem, vaultKeyOf } from "./session-options.js";

/** Options of one sign-in. */
export interface SignInOptions {
  /** What the tool server requires. Default: found out with a request without a token. */
  readonly challenge?: ResourceChallenge | undefined;
  /** Scopes to request in addition to those that the server names. */
  readonly scopes?: readonly string[] | undefined;
  /** Default "asked": a user is always asked; otherwise not if another process has signed in meanwhile. */
  readonly reason?: SignInReason | undefined;
  /** Default: with a browser, unless the authorization server supports only devices. */
  readonly way?: "browser" | "device" | undefined;
  /** Whether it stops before it registers a client or asks a user, with SIGN_IN_NEEDED. What would follow is reported as planned. Default false. */
  readonly isDryRun?: boolean | undefined;
  /** The refused token. */
  readonly refused?: HeldToken | undefined;
}

/** The parts of a session that a sign-in uses. */
export interface SessionParts {
  readonly context: OAuthContext;
  readonly options: OAuthSessionOptions;
  readonly clients: ClientStore;
  readonly issuers: IssuerStore;
  /** The tokens of the issuer that is pinned. */
  readonly tokens: (options: { readonly isFresh: boolean }) => Promise<TokenManager | undefined>;
  /** The tokens of an issuer, which becomes the one in use. */
  readonly tokensOf: (issuer: string) => TokenManager;
}

/** How long to wait for another process before that is reported. */
const quietWaitMs = 300;

/** Lets a user sign in, one at a time across processes, and saves the tokens. */
export async function runSignIn(
  parts: SessionParts,
  signIn: SignIn,
  signInOptions: SignInOptions,
  signal: AbortSignal,
): Promise<HeldToken> {
  const { context, options } = parts;
  const key = vaultKeyOf(options, "", "sign-in");
  return context.log.run("sign-in", signInOptions.reason ?? "asked", (setEnding) => {
    const task = (): Promise<HeldToken> => signInLocked(parts, signIn, signInOptions, signal, setEnding);
    return withSignInLock(context, options.vault, key, task, signal);
  });
}

async function signInLocked(
  parts: SessionParts,
  signIn: SignIn,
  signInOptions: SignInOptions,
  signal: AbortSignal,
  setEnding: SetEnding,
): Promise<HeldToken> {
  const { context, options, clients, issuers, tokens, tokensOf } = parts;
  const { reason = "asked", refused } = signInOptions;
  if (reason !== "asked") {
    const other = await (await tokens({ isFresh: true }))?.reload();
    if (other !== undefined && isEnough(context, other, refused, signInOptions.challenge)) {
      setEnding({ outcome: "adopted" });
      return other;
    }
  }
  const probed = signInOptions.challenge === undefined ? await probeChallenge(context, signal) : undefined;
  const challenge = probed ?? signInOptions.challenge ?? parseResourceChallenge(undefined);
  const { vault } = options;
  const setAside = (item: SessionItem, issuer = ""): Promise<void> => vault.setAside(vaultKeyOf(options, issuer, item));
  // A sign-in replaces damaged entries; otherwise it would always fail.
  const pin = await readable(
    () => issuers.read(),
    () => setAside("issuer"),
  );
  const discovery = await discover(context, {
    resourceMetadata: challenge.resourceMetadata,
    isSignInRequired: probed?.isSignInRequired,
    knownIssuer: pin?.issuer,
    pinnedIssuer: options.issuer,
    signal,
  });
  const { server } = discovery;
  await confirmIssuer(context, discovery, options, signIn, signal);
  const confirmed = new Set(pin?.issuer === server.issuer ? pin.confirmedOrigins : []);
  const manager = tokensOf(server.issuer);
  const before = refused?.record ?? (await readable(() => manager.reload()))?.record;
  const previousScopes = before?.requestedScopes ?? (pin?.issuer === server.issuer ? pin.requestedScopes : []);
  await readable(
    () => vault.get(vaultKeyOf(options, server.issuer, "client")),
    () => setAside("client", server.issuer),
  );
  await manager.assertSpace();
  const selected = selectScopes({
    challenged: challenge.scopes,
    isStepUp: reason === "step-up",
    configured: options.scopes ?? [],
    resourceScopes: discovery.resourceScopes,
    previous: discovery.changedFrom === undefined ? previousScopes : [],
    server,
  });
  const scopes = unionOf(selected, signInOptions.scopes ?? []);
  const way =
    signInOptions.way ??
    (server.authorizationEndpoint === undefined && server.deviceEndpoint !== undefined ? "device" : "browser");
  const isBound = options.bindsTokens === true || discovery.bindsTokens || challenge.requiresProof;
  const shownScopes = scopes.join(" ") || "chosen by the server";
  const text = `Asking the user to sign in with ${server.issuer}, scopes: ${shownScopes}.`;
  context.log.note("waiting", text);
  const record = await withTimeLimit(context, signal, async (limited) =>
    runSignInFlow(
      {
        context,
        discovery,
        rules: requestRules(server, discovery.resource, options),
        clients,
        signIn,
        // The user configured the authorization server, and so trusts its metadata.
        confirmOrigin:
          options.issuer === undefined
            ? createConfirmOrigin(context, server, signIn, confirmed)
            : async () => undefined,
        scopes,
        newScopes: scopesBeyond(previousScopes, scopes),
        reason,
        key: isBound ? await createProofKey(context) : undefined,
        redirect: options.redirect ?? {},
        vault: options.vault.describe(),
        isDryRun: signInOptions.isDryRun ?? false,
        signal: limited,
      },
      way,
    ),
  );
  await issuers.write({
    issuer: server.issuer,
    confirmedOrigins: [...confirmed],
    requestedScopes: scopes,
    isPublished: server.isAssumed ? undefined : true,
  });
  const held = await manager.save(record);
  setEnding({ outcome: "done", text: doneText(record) });
  return held;
}

/** Reads the vault; undefined if the entry is damaged, after `onDamaged`. */
async function readable<T>(read: () => Promise<T>, onDamaged?: () => Promise<void>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!ToolServerError.is(error, "VAULT_UNREADABLE")) throw error;
    await onDamaged?.();
    return undefined;
  }
}

/** Whether a token differs from the refused one, has not expired, and has the required scopes. */
function isEnough(
  { clock }: OAuthContext,
  { record, revision }: HeldToken,
  refused: HeldToken | undefined,
  challenge: ResourceChallenge | undefined,
): boolean {
  if (revision === refused?.revision || isExpired(record, clock.now())) return false;
  return scopesBeyond(scopesOf(record), challenge?.scopes ?? []).length === 0;
}

async function confirmIssuer(
  context: OAuthContext,
  { changedFrom, server }: Discovery,
  { issuer }: OAuthSessionOptions,
  signIn: SignIn,
  signal: AbortSignal,
): Promise<void> {
  // The user configured it.
  if (changedFrom === undefined || issuer === server.issuer) return;
  const failure = issuerChanged(context, changedFrom, server.issuer);
  const change = { server: context.server, from: changedFrom, to: server.issuer };
  if (!((await signIn.confirmIssuer?.(change, signal)) ?? false)) throw failure;
}

/** Runs a sign-in with its time limit. Rejects with SIGN_IN_FAILED if the user does not complete it in time. */
export async function withTimeLimit<T>(
  context: OAuthContext,
  signal: AbortSignal,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, limits } = context;
  const limit = new AbortController();
  const cancelTimer = clock.after(limits.signInMs, () => {
    const problem = `the sign-in was not completed within ${limits.signInMs / 1000} s.`;
    const advice = "Sign in again; if the browser cannot reach this machine, paste the address of its last page.";
    limit.abort(oauthFailure(context, "SIGN_IN_FAILED", { problem, advice }));
  });
  try {
    return await task(AbortSignal.any([signal, limit.signal]));
  } finally {
    cancelTimer();
  }
}

/** Runs a task under a lock, and reports if another process holds it. */
async function withSignInLock<T>(
  context: OAuthContext,
  vault: Vault,
  key: VaultKey,
  task: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  try {
    return await vault.withLock(key, task, { signal, waitMs: quietWaitMs });
  } catch (error) {
    if (!ToolServerError.is(error, "VAULT_LOCKED")) throw error;
  }
  context.log.note("waiting", "Another process is signing in to this server; waiting for it.");
  return vault.withLock(key, task, { signal, waitMs: context.limits.signInMs });
}

function doneText({ identity, expiresAt, refreshToken, requestedScopes }: TokenRecord): string {
  const account = identity === undefined ? "" : ` as ${identity}`;
  const until = expiresAt === undefined ? "" : ` The token expires at ${new Date(expiresAt).toISOString()}.`;
  const advice = requestedScopes.includes("offline_access")
    ? ' If the server issues one only after a new consent, set "prompt": "consent" in its OAuth settings.'
    : "";
  const renewal =
    refreshToken === undefined ? ` There is no refresh token, so it is used until the server rejects it.${advice}` : "";
  return `Signed in${account}.${until}${renewal}`;
}
