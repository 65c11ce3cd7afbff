// Vite adds style sheets to the build; the compiler only has to accept the import.
declare module "*.css";
