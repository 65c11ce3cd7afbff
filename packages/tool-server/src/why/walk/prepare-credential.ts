import type { Credential } from "../../auth/credentials/credential.js";
import type { HelperRunReport } from "../../auth/credentials/helper-credential.js";
import type { ResolvedEntry } from "../../config/substitute-entry.js";
import { usesOAuth } from "../../config/variable-uses.js";
import { createEntryCredential } from "../../connection/servers/entry-credential.js";
import { reportHelperRun } from "../../connection/servers/entry-info.js";
import type { ConnectionInfo } from "../../connection-info.js";
import type { HttpClient } from "../../http/http-client.js";
import type { HelperFacts } from "../facts.js";
import { type FailureFacts, failureFactsOf, isFinding } from "../failure-facts.js";
import { openSignIn, type SignInLook } from "./open-sign-in.js";
import type { Walk } from "./walk.js";

/** What requests will carry. */
export interface PreparedCredential {
  /** Undefined where there are no headers to be had. */
  readonly credential: Credential | undefined;
  readonly helper?: HelperFacts | undefined;
  readonly signIn?: SignInLook | undefined;
  readonly failure?: FailureFacts | undefined;
}

/** Makes the credential of an entry: runs its helper, or opens what is stored of a sign-in. */
export async function prepareCredential(
  walk: Walk,
  resolved: Exclude<ResolvedEntry, { readonly type: "stdio" }>,
  http: HttpClient,
  facts: ConnectionInfo,
): Promise<PreparedCredential> {
  const { entry, options, variables, pluginRoot, secrets, sandbox, clock, redact } = walk;
  const { entries } = options.configuration;
  const signIn = usesOAuth(entry) ? await openSignIn(walk, resolved.url, http, facts) : undefined;
  const session = signIn?.session;
  let run: HelperRunReport | undefined;
  let credential: Credential | undefined;
  const helperPath = resolved.headersHelper;
  try {
    credential = createEntryCredential({
      entry,
      resolved,
      entries,
      variables,
      pluginRoot,
      secrets,
      clock,
      sandbox,
      onNoSandbox: (reason) => walk.report(facts, "warning", `Its helper runs without a sandbox. ${reason}`),
      // Nobody is asked to sign in for a look.
      oauth: session && { session },
      beforeRun: () => walk.ensureTrusted(),
      onRun(report) {
        run = report;
        reportHelperRun(walk.report, facts, report);
      },
    });
    // A token is looked at, and where need be renewed, with the first request.
    if (session === undefined) await credential.headers({ signal: walk.signal });
    return {
      credential,
      signIn,
      helper: helperPath === undefined ? undefined : helperFacts(walk, helperPath, run, credential),
    };
  } catch (error) {
    await credential?.dispose();
    if (!isFinding(error)) throw error;
    const failure = failureFactsOf(error, redact);
    if (helperPath === undefined) return { credential: undefined, failure };
    return { credential: undefined, helper: { ...helperFacts(walk, helperPath, run), failure } };
  }
}

function helperFacts(
  { say }: Walk,
  path: string,
  run: HelperRunReport | undefined,
  credential?: Credential,
): HelperFacts {
  const described = credential?.describe().headers ?? [];
  return {
    path: say(run?.path ?? path, 500),
    outcome: run?.outcome,
    durationMs: Math.round(run?.durationMs ?? 0),
    headers: described.filter(({ from }) => from === "helper").map(({ name }) => name),
  };
}
