/** The folder of this package, seen from the root of what is built and of what is bundled alike. */
export const packageRoot: URL = new URL("..", import.meta.url);
