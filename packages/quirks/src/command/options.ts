import { parseArgs } from "node:util";
import { isQuirk, type Quirk, quirkTable } from "../quirk-table.js";

/** The parsed command line. */
export type Options =
  | { readonly kind: "help"; readonly isJson: boolean }
  | { readonly kind: "list"; readonly isJson: boolean }
  | {
      readonly kind: "serve";
      readonly isJson: boolean;
      readonly quirks: readonly Quirk[];
      readonly port: number | undefined;
      readonly lifetimeS: number | undefined;
      readonly neededScope: string | undefined;
    };

/** Invalid usage of the command. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export const helpText = `Run a tool server and its authorization server, with a switch for each known deviation from the specifications.
Point a client at the URL and see what it does.

Usage: wirescope-quirks [options]

Options:
  --list              list the switches and what each does
  --quirk <name>      turn this switch on; may be repeated
  --port <number>     port of the tool server; default: any free port
  --lifetime <s>      lifetime of access tokens in seconds; default 3600
  --needs <scope>     return 403 for tokens without this scope
  --json              print the URLs, or the list, as one line of JSON
  -h, --help          show this help

It listens only on 127.0.0.1, until it is interrupted. Each request is logged to standard error, without secrets. A
request to "elsewhere" is one that the client should not have sent. The authorization page has no form: it signs in
and consents immediately.

Examples:
  wirescope-quirks --quirk metadata-html --quirk token-expiry-unknown
  wirescope-quirks --lifetime 5 --port 4700
`;

/** Reads the arguments. Throws a UsageError. */
export function parseOptions(argv: readonly string[]): Options {
  const { values } = parsed(argv);
  const isJson = values.json === true;
  if (values.help) return { kind: "help", isJson };
  if (values.list) return { kind: "list", isJson };
  return {
    kind: "serve",
    isJson,
    quirks: (values.quirk ?? []).map(quirkOf),
    port: numberOf("--port", values.port, 65_535),
    lifetimeS: numberOf("--lifetime", values.lifetime, 31_536_000),
    neededScope: values.needs,
  };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        list: { type: "boolean" },
        quirk: { type: "string", multiple: true },
        port: { type: "string" },
        lifetime: { type: "string" },
        needs: { type: "string" },
        json: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new UsageError(`${first.replace(/\.$/, "")}. See wirescope-quirks --help.`);
  }
}

function quirkOf(name: string): Quirk {
  if (isQuirk(name)) return name;
  const word = name.split("-")[0] ?? "";
  const near = Object.keys(quirkTable).filter((each) => word !== "" && each.startsWith(`${word}-`));
  const advice = near.length === 0 ? "See wirescope-quirks --list." : `Did you mean one of ${near.join(", ")}?`;
  throw new UsageError(`Unknown switch "${name}". ${advice}`);
}

function numberOf(option: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= max) return number;
  throw new UsageError(`${option} must be an integer up to ${max}, not "${text}".`);
}
