import { redactValue } from "../connection/connection-failures.js";
import { createServerSecrets } from "../connection/servers/entry-info.js";
import { demandsOf } from "./demands.js";
import type { ExplainOptions } from "./explain-options.js";
import type { Cause, Explanation, Mend } from "./explanation.js";
import type { WalkFacts } from "./facts.js";
import { notesOf } from "./notes.js";
import { permissionsOf } from "./permissions.js";
import { hasFailed, rankCauses } from "./rank/rank-causes.js";
import { stepsOf } from "./steps.js";
import { walkServer } from "./walk/walk-server.js";

/** Walks a server, and explains what was found: see `lazy-explain.ts`, through which all others come. */
export async function explainServer(options: ExplainOptions): Promise<Explanation> {
  const entry = options.configuration.entries.find(({ name }) => name === options.server);
  const secrets = entry === undefined ? options.secrets.scope() : createServerSecrets(entry, options.secrets);
  const facts = await walkServer({ ...options, secrets });
  // Everything was redacted when it was found; a secret that became known only later is caught here.
  const explanation = explain(facts);
  const causes = explanation.causes.map((cause) => ({ ...cause, mend: adviceFor(cause, options) }));
  return redactValue({ ...explanation, causes }, secrets.redact) as Explanation;
}

/** Says how a variable reaches the process that needs it. */
function adviceFor({ cause, mend }: Cause, { setVariable }: ExplainOptions): Mend {
  if (mend.variable === undefined || setVariable === undefined) return mend;
  const how = setVariable(mend.variable);
  // The general advice about a missing value says the same, only less precisely.
  const isMissing = cause === "variable-unset" || cause === "variable-empty";
  return { ...mend, what: isMissing ? how : `${mend.what} ${how}`, command: undefined };
}

/** The explanation of what a walk found. */
export function explain(facts: WalkFacts): Explanation {
  const causes = rankCauses(facts);
  return {
    server: facts.server,
    type: facts.type,
    isWell: !hasFailed(facts),
    causes,
    // Not what is among the causes already.
    notes: notesOf(facts).filter(({ cause }) => !causes.some((known) => known.cause === cause)),
    steps: stepsOf(facts),
    demands: demandsOf(facts),
    permissions: permissionsOf(facts),
  };
}
