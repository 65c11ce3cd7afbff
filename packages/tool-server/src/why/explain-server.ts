import { redactValue } from "../connection/redact-failure.js";
import { demandsOf } from "./demands.js";
import type { ExplainOptions } from "./explain-options.js";
import type { Explanation } from "./explanation.js";
import type { WalkFacts } from "./facts.js";
import { permissionsOf } from "./permissions.js";
import { hasFailed, rankCauses } from "./rank/rank-causes.js";
import { stepsOf } from "./steps.js";
import { walkServer } from "./walk/walk-server.js";

/** Walks a server, and explains what was found: see `lazy-explain.ts`, through which all others come. */
export async function explainServer(options: ExplainOptions): Promise<Explanation> {
  const facts = await walkServer(options);
  // Everything was redacted when it was found; a secret that became known only later is caught here.
  return redactValue(explain(facts), (text) => options.secrets.redact(text)) as Explanation;
}

/** The explanation of what a walk found. */
export function explain(facts: WalkFacts): Explanation {
  return {
    server: facts.server,
    type: facts.type,
    isWell: !hasFailed(facts),
    causes: rankCauses(facts),
    steps: stepsOf(facts),
    demands: demandsOf(facts),
    permissions: permissionsOf(facts),
  };
}
