import {
  decodeHeaderText,
  encodeHeaderText,
  isObject,
  RpcError,
  type RpcObject,
  rpcCodes,
} from "@wirescope/tool-server/internal";

/** A tool argument that is also sent as a header, for proxies that route by headers. */
export interface ParamHeader {
  /** Its path in the arguments. */
  readonly path: readonly string[];
  /** The header, in lower case. */
  readonly header: string;
  readonly isNumber: boolean;
}

const key = "x-mcp-header";
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const types: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
const none: readonly ParamHeader[] = [];
const maxDepth = 500;

/** The arguments of a tool that are also sent as headers; undefined if the schema declares them in an invalid way. */
export function paramHeadersOf(inputSchema: unknown): readonly ParamHeader[] | undefined {
  if (!containsKey(inputSchema)) return none;
  const found: ParamHeader[] = [];
  const names = new Set<string>();
  const visit = (node: unknown, path: readonly string[]): boolean => {
    if (!isObject(node)) return true;
    if (path.length > maxDepth) return false;
    const { properties, ...rest } = node;
    if (key in node) {
      const name = node[key];
      const isValid = path.length > 0 && typeof name === "string" && token.test(name) && types.has(node.type);
      if (!isValid || names.has(name.toLowerCase())) return false;
      names.add(name.toLowerCase());
      found.push({ path, header: `mcp-param-${name.toLowerCase()}`, isNumber: node.type === "integer" });
    }
    // Elsewhere in a schema, such as in `items`, the key is not allowed.
    if (Object.values(rest).some((child) => containsKey(child))) return false;
    return !isObject(properties) || Object.entries(properties).every(([step, child]) => visit(child, [...path, step]));
  };
  return visit(inputSchema, []) ? found : undefined;
}

/** Throws an RpcError if the headers of a call differ from its arguments. */
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
    const field = path.join(".");
    const decoded = decodeHeader(header, typeof sent === "string" ? sent.trim() : undefined, field);
    const isSame = isNumber && /^-?\d+(\.\d+)?$/.test(decoded) ? Number(decoded) === value : decoded === text;
    if (!isSame) throw headerMismatch(header, `the header and ${field} in the body differ`);
  }
}

/** The value of a header that repeats a field of the body. Throws an RpcError if it is missing or invalid. */
export function decodeHeader(header: string, sent: string | undefined, field: string): string {
  if (sent === undefined) throw headerMismatch(header, `the body has ${field}, but the header is missing`);
  const decoded = decodeHeaderText(sent);
  if (decoded !== undefined) return decoded;
  throw headerMismatch(header, "the header is marked as base64, but is not valid base64 of UTF-8");
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

/** The error for a request whose headers and body differ. */
export function headerMismatch(header: string, difference: string): RpcError {
  return new RpcError(rpcCodes.headerMismatch, `The headers and the body of the request differ: ${difference}.`, {
    data: { mismatch: { header, body: difference } },
    status: 400,
  });
}

/** Whether a schema contains the key; also true if it is nested too deeply, so that it is rejected. */
function containsKey(node: unknown, depth = 0): boolean {
  if (typeof node !== "object" || node === null) return false;
  if (depth > maxDepth) return true;
  const within = (child: unknown): boolean => containsKey(child, depth + 1);
  if (Array.isArray(node)) return node.some(within);
  return key in node || Object.values(node).some(within);
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let at = args;
  for (const step of path) at = isObject(at) ? (at as RpcObject)[step] : undefined;
  return at;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}
