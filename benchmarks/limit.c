/* What is possible: a run of the form of trec_eval, scored by one thread that checks nothing.
 *
 * Files are mapped and split once. Each document is looked for among the judged of its topic, in a
 * table of hashes. A topic whose lines are not in the order of scores is sorted; ties, by the
 * document, highest first, are settled where a judged document is tied. Names stay in the file.
 */
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct { const char *text; uint32_t size; } Name;
typedef struct { double score; const char *doc; uint32_t size; int32_t grade; } Line;
typedef struct { uint64_t hash; Name doc; int32_t grade; } Slot;
typedef struct { Name name; Slot *slots; uint64_t mask; long relevant, other; double *ideal; } Topic;
typedef struct { Topic *topics; uint32_t *heads; uint64_t mask; long count, depth; double *logs; } Qrels;

enum { AP, P10, NDCG10, NDCG, RR, R100, BPREF, MEASURES, UNJUDGED = -1 };

static const double POWERS[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

static const char *mapped(const char *path, size_t *size)
{
    struct stat about;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &about) < 0)
        return NULL;
    *size = about.st_size;
    const char *text = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (text == MAP_FAILED)
        return NULL;
    madvise((void *)text, *size, MADV_SEQUENTIAL);
    return text;
}

static inline Name field(const char **at, const char *end)
{
    const char *p = *at;
    while (p < end && *p <= ' ')
        p++;
    const char *start = p;
    while (p < end && *p > ' ')
        p++;
    *at = p;
    return (Name){start, (uint32_t)(p - start)};
}

static inline double number(Name name)
{
    uint64_t digits = 0;
    int decimals = 0, count = 0, point = 0;
    const char *p = name.text, *end = p + name.size;
    int negative = p < end && *p == '-';
    for (p += negative; p < end; p++) {
        if (*p >= '0' && *p <= '9')
            digits = 10 * digits + (*p - '0'), decimals += point, count++;
        else if (*p == '.' && !point)
            point = 1;
        else
            break;
    }
    /* One division of two exact numbers is rounded rightly; anything else is for the library. */
    if (p < end || count > 18 || digits >= (1ull << 53))
        return strtod(name.text, NULL);
    double value = (double)digits / POWERS[decimals];
    return negative ? -value : value;
}

static inline uint64_t part(const char *text, uint32_t size)
{
    uint64_t word = 0;
    memcpy(&word, text, size);
    return word;
}

static inline uint64_t hash_of(Name name)
{
    uint64_t hash = name.size * 0x9E3779B97F4A7C15ull;
    const char *p = name.text;
    uint32_t left = name.size;
    for (; left > 8; left -= 8, p += 8) {
        hash = (hash ^ part(p, 8)) * 0xFF51AFD7ED558CCDull;
        hash ^= hash >> 32;
    }
    if (name.size >= 8) /* the last eight bytes, some of them for the second time */
        hash ^= part(name.text + name.size - 8, 8);
    else if (left >= 4)
        hash ^= part(p, 4) | part(p + left - 4, 4) << 32;
    else
        for (uint32_t i = 0; i < left; i++)
            hash ^= (uint64_t)(unsigned char)p[i] << (8 * i);
    hash *= 0xC4CEB9FE1A85EC53ull;
    hash ^= hash >> 29;
    return hash ? hash : 1;
}

static inline int same(Name a, Name b) { return a.size == b.size && !memcmp(a.text, b.text, a.size); }

static Topic *topic_of(const Qrels *qrels, Name name)
{
    for (uint64_t at = hash_of(name);; at++) {
        uint32_t head = qrels->heads[at & qrels->mask];
        if (!head)
            return NULL;
        if (same(qrels->topics[head - 1].name, name))
            return &qrels->topics[head - 1];
    }
}

static inline int grade_of(const Topic *topic, Name doc)
{
    uint64_t hash = hash_of(doc);
    for (uint64_t at = hash; topic->slots[at & topic->mask].hash; at++) {
        const Slot *slot = &topic->slots[at & topic->mask];
        if (slot->hash == hash && same(slot->doc, doc))
            return slot->grade;
    }
    return UNJUDGED;
}

static uint64_t mask_of(size_t count)
{
    uint64_t size = 16;
    while (size < 4 * count)
        size *= 2;
    return size - 1;
}

static int falling(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first < second) - (first > second);
}

/* Judgments of a topic have to lie together, as in the files of the benchmarks. */
Qrels *read_qrels(const char *path)
{
    size_t size;
    const char *text = mapped(path, &size), *end = text + size;
    if (!text)
        return NULL;
    Qrels *qrels = calloc(1, sizeof *qrels);
    for (const char *at = text, *next; at < end; at = next) {
        Name name = field(&at, end);
        long lines = 0;
        for (next = name.text; next < end; lines++) {
            const char *p = next;
            if (!same(field(&p, end), name))
                break;
            next = memchr(next, '\n', end - next);
            next = next ? next + 1 : end;
        }
        if (!lines)
            break;
        qrels->topics = realloc(qrels->topics, (qrels->count + 1) * sizeof(Topic));
        Topic *topic = &qrels->topics[qrels->count++];
        *topic = (Topic){.name = name, .mask = mask_of(lines)};
        topic->slots = calloc(topic->mask + 1, sizeof(Slot));
        topic->ideal = calloc(lines, sizeof(double));
        for (const char *p = name.text; lines--; ) {
            field(&p, end), field(&p, end);
            Name doc = field(&p, end);
            int grade = (int)number(field(&p, end));
            uint64_t hash = hash_of(doc), slot = hash;
            while (topic->slots[slot & topic->mask].hash)
                slot++;
            topic->slots[slot & topic->mask] = (Slot){hash, doc, grade};
            if (grade > 0)
                topic->ideal[topic->relevant++] = grade;
            else
                topic->other++;
        }
        qsort(topic->ideal, topic->relevant, sizeof(double), falling);
    }
    qrels->mask = mask_of(qrels->count);
    qrels->heads = calloc(qrels->mask + 1, sizeof(uint32_t));
    for (long i = 0; i < qrels->count; i++) {
        uint64_t at = hash_of(qrels->topics[i].name);
        while (qrels->heads[at & qrels->mask])
            at++;
        qrels->heads[at & qrels->mask] = (uint32_t)(i + 1);
    }
    return qrels;
}

static int by_doc(const void *a, const void *b)
{
    const Line *first = a, *second = b;
    uint32_t shorter = first->size < second->size ? first->size : second->size;
    int order = memcmp(second->doc, first->doc, shorter);
    return order ? order : (second->size > first->size) - (second->size < first->size);
}

static int by_score(const void *a, const void *b) { return falling(a, b); }

static void rank(Line *lines, long count)
{
    for (long i = 1; i < count; i++)
        if (lines[i].score > lines[i - 1].score) {
            qsort(lines, count, sizeof(Line), by_score);
            break;
        }
    for (long first = 0, last; first < count; first = last) {
        int judged = lines[first].grade != UNJUDGED;
        for (last = first + 1; last < count && lines[last].score == lines[first].score; last++)
            judged |= lines[last].grade != UNJUDGED;
        if (judged && last - first > 1)
            qsort(lines + first, last - first, sizeof(Line), by_doc);
    }
}

static void measure(Qrels *qrels, const Topic *topic, const Line *lines, long count, double *sums)
{
    double gained = 0, gained10 = 0, best = 0, best10 = 0, precisions = 0, preferred = 0, first = 0;
    long found = 0, found10 = 0, found100 = 0, wrong = 0, longest = count;
    longest = longest > topic->relevant ? longest : topic->relevant;
    if (longest > qrels->depth) {
        qrels->logs = realloc(qrels->logs, longest * sizeof(double));
        for (; qrels->depth < longest; qrels->depth++)
            qrels->logs[qrels->depth] = log2(qrels->depth + 2.0);
    }
    long bound = topic->other < topic->relevant ? topic->other : topic->relevant;
    for (long i = 0; i < count; i++) {
        if (lines[i].grade == UNJUDGED)
            continue;
        if (lines[i].grade == 0) {
            wrong++;
            continue;
        }
        found++, found10 += i < 10, found100 += i < 100;
        precisions += (double)found / (double)(i + 1);
        first = first ? first : 1.0 / (double)(i + 1);
        gained += lines[i].grade / qrels->logs[i];
        gained10 += i < 10 ? lines[i].grade / qrels->logs[i] : 0;
        long before = wrong < topic->relevant ? wrong : topic->relevant;
        preferred += before ? 1.0 - (double)before / (double)bound : 1.0;
    }
    for (long i = 0; i < topic->relevant; i++) {
        best += topic->ideal[i] / qrels->logs[i];
        best10 += i < 10 ? topic->ideal[i] / qrels->logs[i] : 0;
    }
    double relevant = topic->relevant ? (double)topic->relevant : 1.0;
    sums[AP] += precisions / relevant;
    sums[P10] += found10 / 10.0;
    sums[NDCG10] += best10 ? gained10 / best10 : 0;
    sums[NDCG] += best ? gained / best : 0;
    sums[RR] += first;
    sums[R100] += found100 / relevant;
    sums[BPREF] += preferred / relevant;
}

/* Score a run whose topics lie together, and return how many of its topics are judged. */
long score_run(Qrels *qrels, const char *path, double *means)
{
    size_t size;
    const char *text = mapped(path, &size), *at = text, *end = text + size;
    long room = 4096, count = 0, topics = 0;
    Line *lines = malloc(room * sizeof(Line));
    Topic *topic = NULL;
    Name current = {text, 0};
    if (!text)
        return -1;
    memset(means, 0, MEASURES * sizeof(double));
    for (;;) {
        Name name = field(&at, end);
        if (!name.size || !same(name, current)) {
            if (topic) {
                rank(lines, count);
                measure(qrels, topic, lines, count, means);
                topics++;
            }
            if (!name.size)
                break;
            current = name, count = 0, topic = topic_of(qrels, name);
        }
        field(&at, end);
        Name doc = field(&at, end);
        field(&at, end);
        double score = number(field(&at, end));
        field(&at, end);
        if (!topic)
            continue;
        if (count == room)
            lines = realloc(lines, (room *= 2) * sizeof(Line));
        lines[count++] = (Line){score, doc.text, doc.size, grade_of(topic, doc)};
    }
    for (int i = 0; i < MEASURES; i++)
        means[i] /= topics ? (double)topics : 1.0;
    free(lines);
    munmap((void *)text, size);
    return topics;
}
