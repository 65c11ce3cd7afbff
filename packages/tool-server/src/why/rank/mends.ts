import { commandLine } from "../../command-line.js";
import type { Mend } from "../explanation.js";
import type { WalkFacts } from "../facts.js";
import type { OAuthOffer } from "../oauth-facts.js";

type Place = Pick<WalkFacts, "file" | "places">;
type Target = Pick<WalkFacts, "server" | "commandArguments" | "signInArguments">;

/** By what is written in the configuration, at the place of a field. */
export function mendField({ file, places }: Place, field: string, what: string, write?: string): Mend {
  const at = places[field] ?? places.entry;
  const place = at === undefined ? undefined : { file, line: at.line, column: at.column };
  return { what, place, ...(write === undefined ? {} : { write }) };
}

/** By the value of a variable; `value` is an example, by default `…`. */
export function mendVariable(variable: string, what: string, value = "…"): Mend {
  return { what, command: `export ${variable}=${value}`, variable };
}

/** By a command of ours for the server. */
export function mendBy(facts: Target, verbs: readonly string[], what: string): Mend {
  const { server, commandArguments, signInArguments } = facts;
  const commands = verbs.map((verb) => {
    // Which tokens are meant matters to all that use them; trust takes none.
    const more = verb === "trust" ? [] : signInArguments;
    return commandLine(verb, server, ...commandArguments, ...more);
  });
  return { what, command: commands.join(" && ") };
}

/** By a client that somebody registers by hand. */
export function clientMend({ server }: Pick<WalkFacts, "server">): Mend {
  return {
    what: "Have a client registered by the operator of the authorization server, and put its id into wirescope/oauth.json of your configuration folder.",
    write: `${JSON.stringify(server)}: {"clientId": "…"}`,
  };
}

/** By a sign-in, instead of the token that the entry has. */
export function offerMend(facts: Place & Target, { headers, canRegister }: OAuthOffer): Mend {
  const [first = ""] = headers;
  const remove = `emove ${headers.join(" and ")} from the headers of the entry, then sign in.`;
  const { place } = mendField(facts, `headers.${first}`, "");
  if (canRegister) return { ...mendBy(facts, ["login"], `R${remove}`), place };
  const client = clientMend(facts);
  return { ...client, what: `${client.what} Then r${remove}`, command: mendBy(facts, ["login"], "").command };
}

/** By the wrapper that brings a client certificate. */
export function bridgeMend(facts: Place): Mend {
  return mendField(
    facts,
    "entry",
    "Reach it through the wrapper that brings a client certificate.",
    '"command": "wirescope", "args": ["bridge", "--cert", "${CLIENT_CERT}", "--key", "${CLIENT_KEY}", "<url>"]',
  );
}
