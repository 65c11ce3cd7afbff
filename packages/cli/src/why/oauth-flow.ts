import { printableText } from "@wirescope/channelz/internal";
import { type SecretRegistry, ToolServerError } from "@wirescope/tool-server";
import type { Ask, OAuthStep, OAuthStepFields } from "@wirescope/tool-server/auth";
import { createTerminalSignIn } from "@wirescope/tool-server/auth";
import { whyNoOAuth } from "@wirescope/tool-server/internal";
import type { Cause } from "@wirescope/tool-server/why";
import type { Io } from "../io.js";
import { openConfiguredServers } from "../tool-server/configured-servers.js";
import type { ServerValues } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import { openExplainableServers } from "./explain-configured.js";
import { createStagingVault, type StagingVault } from "./staging-vault.js";

/** Options of an OAuth flow. */
export interface OAuthFlowOptions {
  readonly server: string;
  /** Whether the person at the terminal may be asked to sign in. */
  readonly mayAsk: boolean;
  /** Called with each step while the flow runs. */
  onStep(step: OAuthStep): void;
  /** Called with the secrets of the configuration, as soon as they are known. */
  onSecrets(secrets: SecretRegistry): void;
  readonly signal: AbortSignal;
}

/** The result of an OAuth flow. */
export type OAuthFlowResult =
  /** The server accepted the new token. It is not stored if the vault is in memory. */
  | { readonly kind: "signed-in"; readonly isStored: boolean }
  /** It ended before the sign-in: there was no prompt, or the user declined. */
  | { readonly kind: "stopped" }
  | { readonly kind: "failed"; readonly error: ToolServerError; readonly cause: Cause | undefined };

/**
 * Signs in to a server, and reports each step. The stored sign-in is replaced only after the server accepted the new token. Throws a
 * UsageError if the server does not use OAuth.
 */
export async function runOAuthFlow(values: ServerValues, io: Io, options: OAuthFlowOptions): Promise<OAuthFlowResult> {
  const { server, onStep, signal } = options;
  let staging: StagingVault | undefined;
  await using servers = await openConfiguredServers(values, io, "never", {
    stage: (vault) => {
      staging = createStagingVault(vault);
      return staging;
    },
  });
  options.onSecrets(servers.secrets);
  const session = await servers.oauth(server);
  if (session === undefined) {
    const type = servers.entries.find(({ name }) => name === server)?.type;
    throw new UsageError(`${server} ${whyNoOAuth(type)}.`);
  }
  if (session.isMachine && !options.mayAsk)
    throw new UsageError(`${server} gets its tokens without a user, so --no-sign-in cannot stop before the sign-in.`);
  const isDryRun = !session.isMachine && !(await agrees(server, io, options));
  session.context.log.subscribe((event) => event.kind === "request" && onStep(event.step), true);
  try {
    await session.obtainToken(isDryRun ? nobody : createTerminalSignIn(io), { isDryRun }, signal);
    const sent = { Authorization: `${session.describe().tokenType ?? ""} [redacted]`.trimStart() };
    await sendFirstRequest(async () => (await servers.open(server)).connect(), session.context.url, sent, onStep);
    await staging?.commit();
    return { kind: "signed-in", isStored: servers.vault.kind !== "memory" };
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    if (isDryRun && error.code === "SIGN_IN_NEEDED") return { kind: "stopped" };
    return { kind: "failed", error, cause: signal.aborted ? undefined : await causeOf(error, values, io, server) };
  } finally {
    await staging?.dispose();
  }
}

/** Never shows a sign-in page, so any origin is accepted. */
const nobody: Ask = {
  show: () => Promise.reject(new Error("There was no prompt.")),
  confirm: async ({ kind }) => kind === "origin",
};

async function agrees(server: string, io: Io, { mayAsk, signal }: OAuthFlowOptions): Promise<boolean> {
  if (!mayAsk || io.ask === undefined) return false;
  io.stderr.write(
    `This signs in to ${printableText(server)}: it may register a client, and it opens the sign-in page in your browser. A stored sign-in is replaced only if the server accepts the new one.\n`,
  );
  return /^y(?:es)?$/i.test((await io.ask("Sign in now? [y/N] ", signal)).trim());
}

/** Connects with the new token, as any use of the server does. */
async function sendFirstRequest(
  connect: () => Promise<{
    readonly name?: string | undefined;
    readonly version?: string | undefined;
    readonly protocolVersion: string;
  }>,
  { origin, pathname }: URL,
  sent: OAuthStepFields,
  onStep: (step: OAuthStep) => void,
): Promise<void> {
  const start = performance.now();
  const step = {
    name: "request with the token",
    method: "POST",
    url: `${origin}${pathname}`,
    sent,
  };
  const durationMs = (): number => Math.round(performance.now() - start);
  try {
    const { name = "", version = "", protocolVersion } = await connect();
    onStep({ ...step, outcome: "ok", received: { name, version, protocolVersion }, durationMs: durationMs() });
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    const { status } = error.details;
    onStep({ ...step, outcome: "failed", status, failure: error.message, durationMs: durationMs() });
    throw error;
  }
}

/** The likeliest cause of a failure. The diagnosis ignores the stored sign-in, which may work. */
async function causeOf(
  error: ToolServerError,
  values: ServerValues,
  io: Io,
  server: string,
): Promise<Cause | undefined> {
  const servers = await openExplainableServers({ ...values, vault: "memory", debug: false }, io);
  try {
    const { causes } = await servers.explain(server, error);
    // A missing sign-in is expected here.
    return causes.find(({ code }) => code !== "sign-in-needed" && code !== "unknown");
  } finally {
    servers.close();
  }
}
