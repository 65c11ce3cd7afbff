import type { ToolServerError } from "@wirescope/tool-server";
import type { LocalAdmin } from "../admin/local-admin.js";
import { exitCode } from "../failure.js";
import { formatJson, formatJsonLine, jsonOf } from "../output/json.js";
import { createScreen } from "../output/screen.js";
import { serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import type { Command } from "./command.js";
import { defineAdminCommand } from "./define-admin-command.js";

/** Diagnoses a failing server and suggests a fix. */
export const whyCommand: Command = defineAdminCommand({
  name: "why",
  summary: "diagnose a failing server and suggest a fix",
  parameters: ["<server|url>"],
  serverAt: 0,
  options: {
    oauth: { type: "boolean", help: "sign in, and show each step of the OAuth flow while it happens, without secrets" },
    "no-sign-in": {
      type: "boolean",
      help: "with --oauth: stop before a client is registered or the sign-in page opens, and show what would be sent",
    },
    ...serverOptions,
    endpoint: serverOptions.endpoint,
  },
  notes: [
    "It checks each step of the connection: variables, trust, helper, network, TLS, credential, sign-in, protocol.",
    "It changes nothing: it connects, lists the tools and reads metadata. An expired token is refreshed.",
    "If a gateway is running with the same configuration, the gateway runs the checks, with its variables and tokens.",
    "It neither runs nor connects to a server that is disabled or not trusted. The exit code is 0 if the server works, else 1.",
    "With --oauth it asks before it signs in. A stored sign-in is replaced only if the server accepts the new one.",
  ],
  // A diagnosis may start a program, so the gateway requires the administrator's token for it.
  isChange: () => true,
  isLocal: (values) => values.oauth,
  check(values) {
    if (values["no-sign-in"] && !values.oauth) throw new UsageError("--no-sign-in requires --oauth.");
    if (values.oauth && values.endpoint) throw new UsageError("--oauth does not work with --endpoint.");
  },
  async use({ admin, screen, values, positionals, local }) {
    if (values.oauth) return showOAuthFlow(local, positionals[0] ?? "", values);
    const explanation = await admin.explain(positionals[0] ?? "");
    if (values.json) screen.print(formatJson(jsonOf(explanation)));
    else {
      const { renderExplanation } = await import("../why/render-explanation.js");
      screen.printAll(renderExplanation(explanation, screen));
    }
    return explanation.isWell ? exitCode.ok : exitCode.failure;
  },
});

interface FlowValues {
  readonly json: boolean;
  readonly "no-sign-in": boolean;
  readonly "no-color": boolean;
}

/** Prints each step of an OAuth flow while it happens, and the result. */
async function showOAuthFlow(local: () => Promise<LocalAdmin>, server: string, values: FlowValues): Promise<number> {
  await using admin = await local();
  const screen = createScreen(admin.io, values["no-color"]);
  const { renderOAuthResult, renderOAuthStep } = await import("../why/render-oauth-flow.js");
  const toolServer = await import("@wirescope/tool-server");
  const interruption = new AbortController();
  const onInterrupt = (): void => {
    const problem = `The sign-in to ${server} was interrupted.`;
    interruption.abort(new toolServer.ToolServerError("SIGN_IN_FAILED", { problem, advice: "" }));
  };
  process.once("SIGINT", onInterrupt);
  let count = 0;
  try {
    const result = await admin.runOAuthFlow({
      server,
      mayAsk: !values["no-sign-in"],
      onStep(step) {
        count += 1;
        if (values.json) screen.print(formatJsonLine(jsonOf({ step: count, ...step })));
        else screen.printAll(renderOAuthStep(step, count, screen));
      },
      signal: interruption.signal,
    });
    if (values.json) {
      const ending = result.kind === "failed" ? { ...result, error: errorOf(result.error) } : result;
      const { kind, ...rest } = ending;
      screen.print(formatJsonLine(jsonOf({ result: kind, steps: count, ...rest })));
    } else screen.printAll(renderOAuthResult(result, server, count, screen));
    if (interruption.signal.aborted) return exitCode.interrupted;
    return result.kind === "failed" ? exitCode.failure : exitCode.ok;
  } finally {
    process.removeListener("SIGINT", onInterrupt);
  }
}

function errorOf({ code, message }: ToolServerError): { readonly code: string; readonly message: string } {
  return { code, message };
}
