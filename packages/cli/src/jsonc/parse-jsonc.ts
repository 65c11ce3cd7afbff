import {
  type JsonMember,
  type JsonNode,
  type JsonObjectNode,
  type ParsedJson,
  type Position,
  parseJsonWithPositions,
} from "@wirescope/tool-server/internal/json";

/** A file is not valid JSON, or does not have the expected structure. The message starts with line and column and quotes no value. */
export class JsoncError extends Error {
  override readonly name = "JsoncError";

  constructor({ line, column }: Position, problem: string) {
    super(`${line}:${column}: ${problem}`);
  }
}

/** Parses JSON with comments and trailing commas, as the settings files of editors have them. Throws a JsoncError. */
export function parseJsonc(text: string): Pick<ParsedJson, "comments"> & { readonly root: JsonNode } {
  // These files belong to other programs and contain more than servers: some include a history of several megabytes.
  const { root, problems, comments } = parseJsonWithPositions(text, {
    allowComments: true,
    maxLength: Number.POSITIVE_INFINITY,
    maxDepth: 256,
  });
  const problem = problems.find(({ kind }) => kind !== "duplicate-key");
  if (problem !== undefined) throw new JsoncError(problem, `${problem.message} ${problem.fix}`);
  if (root === undefined) throw new JsoncError({ line: 1, column: 1 }, "The file is empty.");
  return { root, comments };
}

/** The members of an object. Throws a JsoncError if `node` is not an object or repeats a key. `what` names it in the message. */
export function membersOf(node: JsonNode, what: string): readonly JsonMember[] {
  const { members } = asObject(node, what);
  for (const member of members) assertNotRepeated(member);
  return members;
}

/** The member with this key. Throws a JsoncError if the key is repeated, because it is ambiguous. */
export function memberOf(object: JsonObjectNode, key: string): JsonMember | undefined {
  const member = object.members.find((each) => each.key === key);
  if (member !== undefined) assertNotRepeated(member);
  return member;
}

export function asObject(node: JsonNode, what: string): JsonObjectNode {
  if (node.kind === "object") return node;
  throw new JsoncError(node, `${what} must be an object.`);
}

function assertNotRepeated({ key, keyAt, isRepeated }: JsonMember): void {
  if (isRepeated) throw new JsoncError(keyAt, `Duplicate key ${JSON.stringify(key)}.`);
}
