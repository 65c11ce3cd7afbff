import type { Credential } from "../../auth/credentials/credential.js";
import type { HelperRunReport } from "../../auth/credentials/helper-credential.js";
import type { OAuthLoginOptions } from "../../auth/oauth/login/login-options.js";
import { createOAuthLogin, type OAuthLogin } from "../../auth/oauth/login/oauth-login.js";
import type { OAuthEvent } from "../../auth/oauth/oauth-log.js";
import type { ResolvedEntry } from "../../config/substitute-entry.js";
import { usesOAuth } from "../../config/variable-uses.js";
import { createEntryCredential, createSecretReader } from "../../connection/servers/entry-credential.js";
import { reportHelperRun } from "../../connection/servers/entry-info.js";
import {
  type EntryOAuthOptions,
  entryOAuthOptions,
  type OwnSecretCommand,
} from "../../connection/servers/entry-oauth.js";
import type { ConnectionInfo } from "../../connection-info.js";
import { describeProblem } from "../../errors.js";
import type { HttpClient } from "../../http/http-client.js";
import { failureEvidence, type HelperEvidence, isEvidence, type OAuthEvidence } from "../evidence.js";
import { type Walk, within } from "./walk.js";

/** An entry for a network server, with its variables replaced. */
type NetworkTarget = Exclude<ResolvedEntry, { readonly type: "stdio" }>;

export interface PreparedCredential {
  /** Undefined if the helper failed. */
  readonly credential: Credential | undefined;
  readonly helper?: HelperEvidence | undefined;
  readonly signIn?: StoredSignIn | undefined;
}

/** Creates the credential of an entry: runs its helper, or opens the stored sign-in. Only a failure of the helper is evidence. */
export async function prepareCredential(
  walk: Walk,
  resolved: NetworkTarget,
  http: HttpClient,
  info: ConnectionInfo,
): Promise<PreparedCredential> {
  const { entry, options, variables, pluginRoot, secrets, sandbox, clock, redact } = walk;
  const { entries } = options.configuration;
  const parts = {
    entry,
    resolved,
    entries,
    variables,
    pluginRoot,
    secrets,
    clock,
    sandbox,
    beforeRun: () => walk.ensureTrusted(),
  };
  const secretReader = (own?: OwnSecretCommand) => createSecretReader(parts, own);
  const signIn = usesOAuth(entry) ? await openSignIn(walk, { ...resolved, secretReader }, http, info) : undefined;
  const session = signIn?.session;
  let run: HelperRunReport | undefined;
  let credential: Credential | undefined;
  const [command] = resolved.secretCommands.filter(({ target }) => target === "header");
  const helperPath = resolved.headersHelper ?? command?.command[0];
  try {
    credential = createEntryCredential({
      ...parts,
      onNoSandbox: (reason) => walk.report(info, "warning", `The helper runs without a sandbox. ${reason}`),
      // A diagnosis does not ask the user to sign in.
      oauth: session && { session },
      onRun(report) {
        run = report;
        reportHelperRun(walk.report, info, report);
      },
    });
    // A token is read, and renewed if required, with the first request.
    if (session === undefined) await credential.headers({ signal: walk.signal });
    return {
      credential,
      signIn,
      helper: helperPath === undefined ? undefined : helperEvidence(walk, helperPath, run, credential),
    };
  } catch (error) {
    await credential?.dispose();
    if (helperPath === undefined || !isEvidence(error)) throw error;
    const failure = failureEvidence(error, redact);
    return { credential: undefined, helper: { ...helperEvidence(walk, helperPath, run), failure } };
  }
}

function helperEvidence(
  { sanitize, entry }: Walk,
  path: string,
  run: HelperRunReport | undefined,
  credential?: Credential,
): HelperEvidence {
  const described = credential?.describe().headers ?? [];
  return {
    path: sanitize(run?.path ?? path, 500),
    program: run?.program ?? (entry.type !== "stdio" && entry.headersHelper === undefined ? "command" : "helper"),
    outcome: run?.outcome,
    durationMs: Math.round(run?.durationMs ?? 0),
    headers: described.filter(({ from }) => from === "helper").map(({ name }) => name),
  };
}

const vaultMs = 30_000;

export interface StoredSignIn {
  /** Undefined if the vault cannot be used. */
  readonly session?: OAuthLogin | undefined;
  readonly options?: OAuthLoginOptions | undefined;
  /** What was stored, and what OAuth did so far: its events grow during the walk. */
  readonly evidence: OAuthEvidence;
  close(): Promise<void>;
}

/** Opens the vault and reads what is stored for a server. Undefined if the options have no OAuth. */
async function openSignIn(
  walk: Walk,
  { url, oauth, secretReader }: Pick<NetworkTarget, "url" | "oauth"> & Pick<EntryOAuthOptions, "secretReader">,
  http: HttpClient,
  info: ConnectionInfo,
): Promise<StoredSignIn | undefined> {
  const { options, entry, secrets, clock, report, redact } = walk;
  if (options.oauth === undefined) return undefined;
  const { openVault, profile, overrides } = options.oauth;
  const events: OAuthEvent[] = [];
  const requestMs = Math.min(walk.responseMs, 10_000);
  const opening = openVault();
  try {
    // A keychain may wait for a user.
    const vault = await within(walk, () => opening, vaultMs);
    const settings = { vault, profile, overrides, allowInsecureLoopback: options.allowInsecureLoopback };
    const shared = { info, http, secrets, clock, report };
    const sessionOptions: OAuthLoginOptions = {
      ...entryOAuthOptions({ ...shared, settings, server: entry.name, url, oauth, secretReader }),
      limits: { requestMs, tokenMs: Math.min(walk.responseMs, 30_000), discoveryMs: 3 * requestMs },
    };
    const session = createOAuthLogin(sessionOptions);
    session.context.log.subscribe((event) => events.push(event));
    const before = await session.status();
    const last = await session.store.readFailure();
    const { summary, warning } = vault.describe();
    return {
      session,
      options: sessionOptions,
      evidence: {
        vault: { summary: redact(summary), warning: warning === undefined ? undefined : redact(warning) },
        before,
        lastFailure: last && {
          ...failureEvidence(last.error, redact),
          // The advice is the fix.
          message: redact(describeProblem(last.error)),
          operation: last.operation,
          ageMs: clock.now() - last.at,
        },
        events,
      },
      async close() {
        await session.close();
        await vault.dispose();
      },
    };
  } catch (error) {
    // Not awaited: the vault may never open.
    void opening.then((vault) => vault.dispose()).catch(() => {});
    return { evidence: { vaultFailure: failureEvidence(error, redact), events }, close: async () => {} };
  }
}
