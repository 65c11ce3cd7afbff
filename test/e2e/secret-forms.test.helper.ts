/** The forms in which a secret could leak, computed without the code that redacts them. */
export function formsOfSecret(secret: string): readonly string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const forms = [
    secret,
    json,
    JSON.stringify(json).slice(1, -1),
    // As `util.inspect` quotes.
    secret.replaceAll("\\", "\\\\").replaceAll("'", "\\'"),
    secret.replaceAll("/", "\\/"),
    encodeURIComponent(secret),
    encodeURIComponent(secret).toLowerCase(),
    new URLSearchParams({ q: secret }).toString().slice(2),
    Buffer.from(secret).toString("hex"),
    ...base64Of(secret),
    // Truncation must not leave a usable part.
    secret.slice(0, 10),
    secret.slice(-10),
  ];
  return [...new Set(forms)];
}

/** The part of a secret in base64 that does not depend on what precedes and follows it. */
function base64Of(secret: string): string[] {
  const alone = Buffer.from(secret).toString("base64").replace(/=+$/, "");
  const inside = ["", "a", "ab"].map((before) => {
    const text = Buffer.from(`${before}${secret}`).toString("base64").replace(/=+$/, "");
    return text.slice(before === "" ? 0 : 4, -4);
  });
  return [alone, ...inside].flatMap((text) => [text, text.replaceAll("+", "-").replaceAll("/", "_")]);
}

/** Which secrets a string contains, with their surroundings. */
export function findSecrets(text: string, secrets: Readonly<Record<string, string>>): string[] {
  return Object.entries(secrets).flatMap(([name, secret]) =>
    formsOfSecret(secret).flatMap((form) => {
      const at = text.indexOf(form);
      return at === -1 ? [] : [`${name} as ${form}: …${text.slice(Math.max(0, at - 150), at + form.length + 50)}…`];
    }),
  );
}
