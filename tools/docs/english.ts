/**
 * Is a text plain English? Sentence lengths, and idioms that readers with another first language stumble over.
 *
 * The measure counts; it does not judge a sentence. The goals are those of docs, which people read to get something done.
 */

/** Words and phrases that the project does not use, each with plainer words for it. */
export const IDIOMS: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  idiom(String.raw`\btold\b|\btells? (?:of|it|people|that)\b`, "reported, says"),
  idiom(String.raw`\bstands? in\b`, "is in, replaces"),
  idiom(String.raw`\bcomes? to\b`, "results in, is"),
  idiom(String.raw`\bgoes by\b`, "uses"),
  idiom(String.raw`\bgoes before\b`, "overrides"),
  idiom(String.raw`\bbut for\b`, "except"),
  idiom(String.raw`\bbeside\b`, "next to, in addition to, compared with"),
  idiom(String.raw`\banew\b`, "again"),
  idiom(String.raw`\bso (?:many|much)\b`, "a number"),
  idiom(String.raw`\bwhoever\b|\bwho may\b|\bwho(?:m|ever)? (?:leads|asks|waits|stands)\b`, "a user who"),
  idiom(String.raw`\bnobody\b|\bsomebody\b`, "name the actor"),
  idiom(String.raw`(?:^|[.:;] )Of (?:a|an|the|its|what|several|those|two|which|[A-Z])\w*\b`, "subject, verb, object"),
  idiom(String.raw`\b(?:is|are) no (?!longer|more)\w+`, "is not"),
  idiom(String.raw`\bas it is\b`, "unchanged"),
  idiom(String.raw`\bthe letter\b|\bthat document\b`, "name the document"),
  idiom(String.raw`\bby itself\b`, "alone, separately"),
  idiom(String.raw`\bin good order\b`, "cleanly"),
  idiom(String.raw`\bstand(?:s|ing)? by\b`, "waits"),
  idiom(String.raw`\bwhat is (?:so|now|to be)\b`, "name the thing"),
  idiom(String.raw`\bof (?:ours|its own)\b`, "own"),
  idiom(String.raw`\bbelieves?\b|\bknows? (?:of|no)\b|\bheard\b|\bhears?\b`, "a program receives, records, reports"),
  idiom(String.raw`\bword by word\b`, "literally"),
  idiom(String.raw`\bhelds? back\b`, "prevents, delays"),
  idiom(String.raw`\bput away\b`, "removed"),
  idiom(String.raw`\bhas it that\b`, "says"),
  idiom(String.raw`\blooked at\b`, "checked, read"),
];

function idiom(pattern: string, instead: string) {
  return { pattern: new RegExp(pattern, "gm"), instead };
}

/** What a text may have. */
export interface EnglishGoals {
  readonly meanWords: number;
  readonly longSentenceWords: number;
  /** Of all sentences. */
  readonly longShare: number;
  readonly idiomsPerThousand: number;
}

/** For the README and docs. */
export const DOCS_GOALS: EnglishGoals = {
  meanWords: 19,
  longSentenceWords: 40,
  longShare: 0.01,
  idiomsPerThousand: 1.5,
};

/** For contracts, which contributors read. */
export const CONTRACT_GOALS: EnglishGoals = {
  meanWords: 22,
  longSentenceWords: 45,
  longShare: 0.01,
  idiomsPerThousand: 2.5,
};

/** Where a text misses a goal. */
export interface EnglishReport {
  readonly sentences: number;
  readonly meanWords: number;
  readonly longSentences: readonly string[];
  /** Each with the words around it. */
  readonly idioms: readonly string[];
  /** One line for each goal that is missed. */
  readonly missed: readonly string[];
}

/** Measures prose, without code. An allowance of one lets a short page have one idiom or one long sentence. */
export function measureEnglish(
  proses: readonly string[],
  goals: EnglishGoals,
  { allowance = 0 }: { readonly allowance?: number } = {},
): EnglishReport {
  const sentences = proses.flatMap(listSentences);
  const counts = sentences.map(countWords);
  const words = counts.reduce((sum, count) => sum + count, 0);
  const longSentences = sentences.filter((_, index) => (counts[index] ?? 0) > goals.longSentenceWords);
  const idioms = proses.flatMap(listIdioms);
  const meanWords = words / Math.max(1, sentences.length);
  const missed = [
    ...(meanWords > goals.meanWords ? [`${meanWords.toFixed(1)} words a sentence, goal ${goals.meanWords}`] : []),
    ...(longSentences.length > Math.max(allowance, sentences.length * goals.longShare)
      ? [`${longSentences.length} sentences above ${goals.longSentenceWords} words: ${longSentences.join(" / ")}`]
      : []),
    ...(idioms.length > Math.max(allowance, (words * goals.idiomsPerThousand) / 1000)
      ? [`${idioms.length} idioms: ${idioms.join(" / ")}`]
      : []),
  ];
  return { sentences: sentences.length, meanWords, longSentences, idioms, missed };
}

/** Sentences of at least three words. */
function listSentences(prose: string): readonly string[] {
  return prose.split(/\n\s*\n/)
    .flatMap((paragraph) => paragraph.split(/\s+/).join(" ").split(/(?<=[.!?])\s+(?=[A-Z`"])/))
    .map((sentence) => sentence.trim())
    .filter((sentence) => countWords(sentence) >= 3);
}

function countWords(sentence: string): number {
  return sentence.match(/[\w'%-]+/g)?.length ?? 0;
}

function listIdioms(prose: string): readonly string[] {
  return IDIOMS.flatMap(({ pattern, instead }) =>
    [...prose.matchAll(pattern)].map(({ 0: found, index }) => {
      const around = prose.slice(Math.max(0, index - 30), index + found.length + 30).replaceAll(/\s+/g, " ");
      return `"${around}" (${instead})`;
    })
  );
}
