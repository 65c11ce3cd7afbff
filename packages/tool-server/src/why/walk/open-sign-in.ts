import type { OAuthEvent } from "../../auth/oauth/oauth-context.js";
import { createOAuthSession, type OAuthSession } from "../../auth/oauth/session/oauth-session.js";
import type { OAuthSessionOptions } from "../../auth/oauth/session/session-options.js";
import { entryOAuthOptions } from "../../connection/servers/entry-oauth.js";
import type { ConnectionInfo, OAuthDescription } from "../../connection-info.js";
import { ToolServerError } from "../../errors.js";
import type { HttpClient } from "../../http/http-client.js";
import { type FailureFacts, failureFactsOf } from "../failure-facts.js";
import type { OAuthFacts } from "../oauth-facts.js";
import { within } from "./time-limit.js";
import type { Walk } from "./walk.js";

const vaultMs = 30_000;

/** The sign-in of a server, as it is stored. */
export interface SignInLook {
  /** Undefined where the vault cannot be used. */
  readonly session: OAuthSession | undefined;
  readonly options: OAuthSessionOptions | undefined;
  readonly vault: OAuthFacts["vault"];
  readonly vaultFailure: FailureFacts | undefined;
  readonly before: OAuthDescription | undefined;
  /** What OAuth did; it grows as the walk goes on. */
  readonly events: readonly OAuthEvent[];
  close(): Promise<void>;
}

/** Opens the vault and looks what is stored for a server. Undefined where the caller gave no way to sign in. */
export async function openSignIn(
  walk: Walk,
  url: string,
  http: HttpClient,
  facts: ConnectionInfo,
): Promise<SignInLook | undefined> {
  const { options, entry, secrets, clock, report, redact } = walk;
  if (options.oauth === undefined) return undefined;
  const { openVault, profile, overrides } = options.oauth;
  const events: OAuthEvent[] = [...(options.oauth.events ?? [])];
  const answerMs = Math.min(walk.answerMs, 10_000);
  const opening = openVault();
  const closeVault = (): Promise<void> =>
    opening.then(
      (vault) => vault.dispose(),
      () => {},
    );
  try {
    // A keychain may wait for a person, and the walk does not wait for ever.
    const vault = await within(walk, () => opening, vaultMs);
    const settings = { vault, profile, overrides, allowInsecureLoopback: options.allowInsecureLoopback };
    const sessionOptions: OAuthSessionOptions = {
      ...entryOAuthOptions({ settings, info: facts, server: entry.name, url, http, secrets, clock, report }),
      limits: { requestMs: answerMs, discoveryMs: 3 * answerMs },
      onEvent(event) {
        events.push(event);
        report(facts, event.severity, event.text);
      },
    };
    const session = createOAuthSession(sessionOptions);
    const before = await session.status();
    const { summary, warning } = vault.describe();
    return {
      session,
      options: sessionOptions,
      vault: { summary: redact(summary), warning: warning === undefined ? undefined : redact(warning) },
      vaultFailure: undefined,
      before,
      events,
      async close() {
        await session.close();
        await vault.dispose();
      },
    };
  } catch (error) {
    // Not awaited: it may never open.
    void closeVault().catch(() => {});
    if (!ToolServerError.is(error)) throw error;
    const vaultFailure = failureFactsOf(error, redact);
    return {
      session: undefined,
      options: undefined,
      vault: undefined,
      vaultFailure,
      before: undefined,
      events,
      close: async () => {},
    };
  }
}
