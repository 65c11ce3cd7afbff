type Schema = Readonly<Record<string, unknown>>;

const annotations = new Set(["$schema", "title", "description", "examples", "definitions"]);

/** The violations of a schema by a value, for the part of draft-07 that our schemas use. An unknown keyword is an error. */
export function violations(schema: Schema, value: unknown, root: Schema = schema, at = "#"): string[] {
  const nested = (part: unknown, inner: unknown, where: string): string[] =>
    violations(part as Schema, inner, root, where);
  return Object.entries(schema).flatMap(([keyword, argument]): string[] => {
    const fails = (isBroken: boolean): string[] => (isBroken ? [`${at} ${keyword}`] : []);
    switch (keyword) {
      case "type":
        return fails(![argument].flat().some((type) => isOfType(value, type)));
      case "minimum":
        return fails(typeof value === "number" && value < (argument as number));
      case "maximum":
        return fails(typeof value === "number" && value > (argument as number));
      case "enum":
        return fails(!(argument as unknown[]).includes(value));
      case "pattern":
        return fails(typeof value === "string" && !new RegExp(argument as string, "u").test(value));
      case "required":
        return fails(isObject(value) && (argument as string[]).some((key) => !Object.hasOwn(value, key)));
      case "dependencies":
        return Object.entries(argument as Record<string, string[]>).flatMap(([key, others]) =>
          fails(isObject(value) && Object.hasOwn(value, key) && others.some((other) => !Object.hasOwn(value, other))),
        );
      case "not":
        return fails(nested(argument, value, at).length === 0);
      case "items":
        return Array.isArray(value) ? value.flatMap((item, index) => nested(argument, item, `${at}/${index}`)) : [];
      case "propertyNames":
        return isObject(value) ? Object.keys(value).flatMap((key) => nested(argument, key, `${at}/${key}`)) : [];
      case "properties":
        return Object.entries(argument as Schema).flatMap(([key, part]) =>
          isObject(value) && Object.hasOwn(value, key) ? nested(part, value[key], `${at}/${key}`) : [],
        );
      case "additionalProperties": {
        if (!isObject(value)) return [];
        const known = Object.keys((schema.properties as Schema | undefined) ?? {});
        const others = Object.keys(value).filter((key) => !known.includes(key));
        return argument === false
          ? others.map((key) => `${at}/${key} is not known`)
          : others.flatMap((key) => nested(argument, value[key], `${at}/${key}`));
      }
      case "$ref":
        return nested((root.definitions as Schema)[(argument as string).replace("#/definitions/", "")], value, at);
      case "if":
        return nested(nested(argument, value, at).length === 0 ? schema.then : schema.else, value, at);
      case "then":
      case "else":
        return [];
      default:
        if (annotations.has(keyword)) return [];
        throw new Error(`This validator does not know ${keyword}.`);
    }
  });
}

function isOfType(value: unknown, type: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  return (Array.isArray(value) ? "array" : value === null ? "null" : typeof value) === type;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
