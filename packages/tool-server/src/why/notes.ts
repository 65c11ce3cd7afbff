import type { Note } from "./explanation.js";
import type { WalkFacts } from "./facts.js";
import { offerMend } from "./rank/mends.js";

/** What could be better, by all that a walk found. */
export function notesOf(facts: WalkFacts): Note[] {
  const { offer } = facts;
  if (offer === undefined) return [];
  const { issuer, headers, evidence } = offer;
  const message = `The server offers a sign-in by OAuth, with ${issuer}. That is preferred to a token in ${headers.join(" and ")}: its tokens expire, are renewed automatically and are stored encrypted.`;
  return [{ cause: "oauth-offered", message, evidence, mend: offerMend(facts, offer) }];
}
