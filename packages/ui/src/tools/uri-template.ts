const expression = /\{([+#./;?&]?)([^{}]{0,200})\}/g;
const maxVariables = 30;

/** The variables of a URI template (RFC 6570), each once. */
export function templateVariables(template: string): readonly string[] {
  const names = [...template.matchAll(expression)].flatMap(([, , list = ""]) => list.split(",").map(variableName));
  return [...new Set(names.filter((name) => name !== ""))].slice(0, maxVariables);
}

/** A URI from a template with simple string values, as RFC 6570 expands them. Variables without a value are omitted. */
export function expandTemplate(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(expression, (_, operator: string, list: string) => {
    const given = list.split(",").flatMap((item) => {
      const name = variableName(item);
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (value === undefined || value === "") return [];
      const maxLength = Number(/:(\d{1,4})$/.exec(item)?.[1] ?? Number.POSITIVE_INFINITY);
      const cut = [...value].slice(0, maxLength).join("");
      const text = operator === "+" || operator === "#" ? encodeURI(cut) : encodeURIComponent(cut);
      return [operator === "?" || operator === "&" || operator === ";" ? `${name}=${text}` : text];
    });
    if (given.length === 0) return "";
    const separator = { "?": "&", "&": "&", ";": ";", ".": ".", "/": "/" }[operator] ?? ",";
    const prefix = operator === "+" ? "" : operator;
    return `${prefix}${given.join(separator)}`;
  });
}

function variableName(item: string): string {
  return item.trim().replace(/(\*|:\d+)$/, "");
}
