import {
  decodeHeaderText,
  encodeHeaderText,
  isObject,
  type JsonObject,
  RpcError,
  rpcCodes,
} from "@wirescope/tool-server/internal";

/** An argument of a tool that is also sent as a header, for those who route by headers. */
export interface ParamHeader {
  /** Where it stands among the arguments. */
  readonly path: readonly string[];
  /** The header, in lower case. */
  readonly header: string;
  readonly isNumber: boolean;
}

const key = "x-mcp-header";
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const types: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
const none: readonly ParamHeader[] = [];
const deepest = 500;

/** The arguments of a tool that are sent as headers too; undefined where its schema says so in a way that is not allowed. */
export function paramHeadersOf(inputSchema: unknown): readonly ParamHeader[] | undefined {
  if (!mentions(inputSchema)) return none;
  const found: ParamHeader[] = [];
  const names = new Set<string>();
  const visit = (node: unknown, path: readonly string[]): boolean => {
    if (!isObject(node)) return true;
    if (path.length > deepest) return false;
    const { properties, ...rest } = node;
    if (key in node) {
      const name = node[key];
      const isGood = path.length > 0 && typeof name === "string" && token.test(name) && types.has(node.type);
      if (!isGood || names.has(name.toLowerCase())) return false;
      names.add(name.toLowerCase());
      found.push({ path, header: `mcp-param-${name.toLowerCase()}`, isNumber: node.type === "integer" });
    }
    // Anywhere but in a chain of properties it may not stand.
    if (Object.values(rest).some((child) => mentions(child))) return false;
    return !isObject(properties) || Object.entries(properties).every(([step, child]) => visit(child, [...path, step]));
  };
  return visit(inputSchema, []) ? found : undefined;
}

/** Holds the headers of a call against its arguments. Throws an RpcError where they differ. */
export function assertParamHeaders(
  declared: readonly ParamHeader[],
  args: unknown,
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): void {
  for (const { path, header, isNumber } of declared) {
    const value = valueAt(args, path);
    const text = textOf(value);
    if (text === undefined) continue;
    const sent = headers[header];
    if (typeof sent !== "string") throw mismatch(header, `the body has ${path.join(".")}, and the header is absent`);
    const decoded = decodeHeaderText(sent.trim());
    if (decoded === undefined) throw mismatch(header, "the header is not base64 of UTF-8, as it says");
    const isSame = isNumber && /^-?\d+(\.\d+)?$/.test(decoded) ? Number(decoded) === value : decoded === text;
    if (!isSame) throw mismatch(header, `the header and ${path.join(".")} of the body differ`);
  }
}

/** The headers of a call with these arguments. */
export function buildParamHeaders(declared: readonly ParamHeader[], args: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    declared.flatMap(({ path, header }) => {
      const text = textOf(valueAt(args, path));
      return text === undefined ? [] : [[header, encodeHeaderText(text)] as const];
    }),
  );
}

/** That headers and body of a request differ. */
export function mismatch(header: string, what: string): RpcError {
  return new RpcError(rpcCodes.headerMismatch, `The headers and the body of the request disagree: ${what}.`, {
    data: { mismatch: { header, body: what } },
    status: 400,
  });
}

/** Where a schema is nested deeper than anybody writes one, it counts as one that does: it is not offered then. */
function mentions(node: unknown, depth = 0): boolean {
  if (typeof node !== "object" || node === null) return false;
  if (depth > deepest) return true;
  const within = (child: unknown): boolean => mentions(child, depth + 1);
  if (Array.isArray(node)) return node.some(within);
  return key in node || Object.values(node).some(within);
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let at = args;
  for (const step of path) at = isObject(at) ? (at as JsonObject)[step] : undefined;
  return at;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}
