import type { Cause, CauseCode } from "../causes/cause-table.js";
import { parseConfiguration } from "../config/parse-configuration.js";
import {
  type McpHandler,
  respondJson,
  resultOf,
  serveWell,
} from "../connection/transports/streamable-http.test.helper.js";
import {
  type HostileOptions,
  type HostileServer,
  startHostileServer,
} from "../http/hostile-http-server.test.helper.js";
import { createSecretRegistry } from "../secrets/redactor.js";
import type { TrustDecision } from "../trust/evaluate-trust.js";
import { walkAndExplain } from "./explain-server.js";
import type { CheckOutcome, ExplainOptions, Explanation, StepName } from "./explanation.js";
import { createWalk, type Walk } from "./walk/walk.js";

/** The decision of a trusted entry. */
export const trusted: TrustDecision = {
  state: "trusted",
  by: "flag",
  fingerprint: { digest: "", entry: "", files: [], isComplete: true },
};

/** Explains a server of this entry, named `api`, in its own configuration. */
export function explainEntry(entry: unknown, options: Partial<ExplainOptions> = {}): Promise<Explanation> {
  return walkAndExplain(explainOptionsOf(entry, options));
}

/** The options to explain a server of this entry, named `api`, in its own configuration. */
export function explainOptionsOf(entry: unknown, options: Partial<ExplainOptions> = {}): ExplainOptions {
  const secrets = options.secrets ?? createSecretRegistry();
  const text = JSON.stringify({ mcpServers: { api: entry } }, null, 2);
  return {
    server: "api",
    configuration: parseConfiguration(text, { secrets }),
    configurationPath: "/plugin/.mcp.json",
    variables: { PATH: process.env.PATH },
    pluginRoot: process.cwd(),
    evaluateTrust: async () => trusted,
    settings: { info: { name: "wirescope-test", version: "0.0.0" } },
    allowInsecureLoopback: true,
    ...options,
    secrets,
  };
}

/** A walk to the server of this entry. */
export function createTestWalk(entry: unknown, options: Partial<ExplainOptions> = {}): Walk {
  const given = explainOptionsOf(entry, options);
  const [parsed] = given.configuration.entries;
  if (parsed === undefined) throw new Error("The entry is invalid.");
  return createWalk(given, parsed, new AbortController().signal);
}

/** A working tool server over HTTP, except for what `over` does. Stops with the test. */
export function startToolServer(over: McpHandler = () => {}, options: HostileOptions = {}): Promise<HostileServer> {
  const serve = serveWell((request, response, index) => {
    over(request, response, index);
    if (response.headersSent || request.message.method !== "tools/list") return;
    respondJson(response, resultOf(request.message, { tools: [] }));
  });
  return startHostileServer((request, response, index) => {
    const message = request.body === "" ? {} : JSON.parse(request.body);
    return serve({ ...request, message }, response, index);
  }, options);
}

/** The codes of the causes, in order. */
export function codesOf({ causes }: Explanation): CauseCode[] {
  return causes.map(({ code }) => code);
}

/** The first cause; throws if there is none. */
export function firstOf({ causes }: Explanation): Cause {
  const [first] = causes;
  if (first === undefined) throw new Error("There is no cause.");
  return first;
}

/** The outcome of each step. */
export function outcomesOf({ steps }: Explanation): Partial<Record<StepName, CheckOutcome>> {
  return Object.fromEntries(steps.map(({ step, outcome }) => [step, outcome]));
}
