/* The SQL of the tables that all datasets of a schema share, and of the triggers that keep their rules (store/sinks.h
 * says which). Each text is a format with the schema's name as its first "%w"; the lists end with NULL. */
#ifndef TIDE_STORE_SINKS_SQL_H
#define TIDE_STORE_SINKS_SQL_H

extern const char *const tide_sinks_sql_tables[];
extern const char *const tide_sinks_sql_triggers[];

/* What files hold that were made before: views of those tables in an earlier text, each to be replaced. */
extern const char *const tide_sinks_sql_earlier_views[];

#endif
